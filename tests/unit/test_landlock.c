/* SPDX-License-Identifier: Apache-2.0
 *
 * Which file rights each version of Landlock is asked to restrict, and which each mount gives back. A kernel
 * refuses a ruleset with a right that it does not know. The numbers are those of linux/landlock.h.
 */
#include "ns/landlock.h"

#include "unit.h"

#define WRITE_FILE   (1ULL << 1)
#define REFER        (1ULL << 13)
#define TRUNCATE     (1ULL << 14)
#define IOCTL_DEV    (1ULL << 15)
#define RESOLVE_UNIX (1ULL << 16)

static void test_rights_by_version(void **state)
{
        (void)state;
        for (int abi = 2; abi <= 12; abi++) {
                uint64_t rights = landlock_file_rights(abi);
                assert_true(rights & REFER);
                assert_false(rights & IOCTL_DEV);
                assert_int_equal(!!(rights & TRUNCATE), abi >= 3);
                assert_int_equal(!!(rights & RESOLVE_UNIX), abi >= 9);
                assert_int_equal(rights & ~((RESOLVE_UNIX << 1) - 1), 0);
        }
}

static void test_sockets_are_guarded_with_the_file_layer_only(void **state)
{
        (void)state;
        struct box box = {0};
        assert_false(landlock_guards_sockets(&box, 8));
        assert_true(landlock_guards_sockets(&box, 9));
        box.userns = USERNS_ALLOWED;
        assert_true(landlock_guards_sockets(&box, 9));
        box.userns = USERNS_FULL;
        assert_false(landlock_guards_sockets(&box, 9));
}

static void test_when_the_file_layer_is_enforced(void **state)
{
        (void)state;
        struct box box = {0};
        const char *why = NULL;
        assert_false(landlock_guards_files(&box, 0, &why));
        assert_non_null(strstr(why, "no Landlock"));
        assert_false(landlock_guards_files(&box, 1, &why));
        assert_non_null(strstr(why, "too old"));
        assert_true(landlock_guards_files(&box, 2, &why));
        assert_null(why);
        box.userns = USERNS_ALLOWED;
        assert_true(landlock_guards_files(&box, 2, &why));
        box.userns = USERNS_FULL;
        assert_false(landlock_guards_files(&box, 9, &why));
        assert_non_null(strstr(why, "--allow-userns=full"));
}

static uint64_t rights(enum mount_kind kind, bool writable, bool directory, enum userns_mode userns)
{
        struct mount mount = {.kind = kind, .writable = writable, .is_directory = directory};
        return landlock_mount_rights(&mount, landlock_file_rights(9), userns);
}

static void test_rights_by_mount(void **state)
{
        (void)state;
        const uint64_t all = landlock_file_rights(9), writes = all & ~RESOLVE_UNIX;
        assert_int_equal(rights(MOUNT_MEMORY, false, true, USERNS_NONE), all);
        assert_int_equal(rights(MOUNT_OVERLAY, false, true, USERNS_NONE), writes);
        assert_int_equal(rights(MOUNT_BIND, true, true, USERNS_NONE), writes);
        assert_int_equal(rights(MOUNT_BIND, false, true, USERNS_NONE), 0);
        /* A socket can be granted as a file. */
        assert_int_equal(rights(MOUNT_BIND, true, false, USERNS_NONE), all);
        assert_int_equal(rights(MOUNT_BIND, false, false, USERNS_NONE), RESOLVE_UNIX);
        assert_int_equal(rights(MOUNT_DEV, false, true, USERNS_NONE), WRITE_FILE);
        assert_int_equal(rights(MOUNT_PROC, false, true, USERNS_NONE), 0);
        assert_int_equal(rights(MOUNT_PROC, false, true, USERNS_ALLOWED), WRITE_FILE);
        assert_int_equal(rights(MOUNT_MASK, true, true, USERNS_ALLOWED), 0);
        assert_int_equal(rights(MOUNT_FILE, true, false, USERNS_NONE), 0);
        assert_int_equal(rights(MOUNT_LINK, true, false, USERNS_NONE), 0);
}

static void test_no_mount_gives_a_right_that_is_not_handled(void **state)
{
        (void)state;
        struct mount mount = {.kind = MOUNT_BIND};
        assert_int_equal(landlock_mount_rights(&mount, landlock_file_rights(8), USERNS_NONE), 0);
        mount.writable = true;
        assert_int_equal(landlock_mount_rights(&mount, landlock_file_rights(8), USERNS_NONE),
                         landlock_file_rights(8));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_rights_by_version),
            cmocka_unit_test(test_sockets_are_guarded_with_the_file_layer_only),
            cmocka_unit_test(test_when_the_file_layer_is_enforced),
            cmocka_unit_test(test_rights_by_mount),
            cmocka_unit_test(test_no_mount_gives_a_right_that_is_not_handled),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
