/* SPDX-License-Identifier: Apache-2.0
 *
 * Which places of the new root hutch made itself, so that their paths can be trusted.
 */
#include "ns/mount_point.h"

#include "unit.h"

static bool in_root(enum mount_kind kind, const char *at, const char *destination)
{
        struct mount mount = {.kind = kind, .destination = (char *)at};
        struct box box = {.mounts = &mount, .mount_count = 1};
        return mount_point_is_in_root(&box, destination);
}

static void test_places_with_no_mount_above_are_in_the_root(void **state)
{
        (void)state;
        assert_true(in_root(MOUNT_BIND, "/home/you/project", "/home"));
        assert_true(in_root(MOUNT_BIND, "/home/you/project", "/home/you/other"));
        assert_true(in_root(MOUNT_BIND, "/home/you/project", "/home/you/project-2"));
        assert_true(in_root(MOUNT_BIND, "/home/you/project", "/"));
        /* The place of the mount itself is the one on which it is attached. */
        assert_true(in_root(MOUNT_BIND, "/home/you/project", "/home/you/project"));
}

static void test_places_below_a_mount_are_not(void **state)
{
        (void)state;
        static const enum mount_kind kinds[] = {MOUNT_BIND,   MOUNT_OVERLAY, MOUNT_MASK,
                                                MOUNT_MEMORY, MOUNT_PROC,    MOUNT_DEV};
        for (size_t i = 0; i < COUNT(kinds); i++) {
                assert_false(in_root(kinds[i], "/a", "/a/b"));
                assert_false(in_root(kinds[i], "/a", "/a/b/c"));
        }
        /* Nothing is mounted where a file or a link is made. */
        assert_true(in_root(MOUNT_FILE, "/a", "/a/b"));
        assert_true(in_root(MOUNT_LINK, "/a", "/a/b"));
}

static void test_one_mount_among_many_is_enough(void **state)
{
        (void)state;
        char first[] = "/usr", second[] = "/home/you", third[] = "/tmp";
        struct mount mounts[] = {{.kind = MOUNT_BIND, .destination = first},
                                 {.kind = MOUNT_MEMORY, .destination = second},
                                 {.kind = MOUNT_MEMORY, .destination = third}};
        struct box box = {.mounts = mounts, .mount_count = COUNT(mounts)};
        assert_false(mount_point_is_in_root(&box, "/home/you/project"));
        assert_false(mount_point_is_in_root(&box, "/tmp/x"));
        assert_true(mount_point_is_in_root(&box, "/opt/x"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_places_with_no_mount_above_are_in_the_root),
            cmocka_unit_test(test_places_below_a_mount_are_not),
            cmocka_unit_test(test_one_mount_among_many_is_enough),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
