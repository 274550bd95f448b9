/* SPDX-License-Identifier: Apache-2.0
 *
 * Which rights to files each version of Landlock is asked to guard: one that a kernel does not know would be
 * refused as a whole. The numbers are those of linux/landlock.h.
 */
#include "ns/landlock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_rights_by_version),
            cmocka_unit_test(test_sockets_are_guarded_with_the_file_layer_only),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
