/* SPDX-License-Identifier: Apache-2.0
 *
 * Giving back what start-up needed: less memory in use, and everything still works.
 */
#include "lib/fd.h"
#include "lib/pages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static long resident_kilobytes(void)
{
        autofree char *text = NULL;
        assert_true(fd_read_file("/proc/self/smaps_rollup", 65536, &text) > 0);
        const char *line = strstr(text, "\nRss:");
        assert_non_null(line);
        return strtol(line + 5, NULL, 10);
}

static int written = 1;

static void test_less_is_mapped_and_all_of_it_works(void **state)
{
        (void)state;
        (void)resident_kilobytes(); /* what asking needs is mapped by now */
        written = 42;
        long before = resident_kilobytes();
        pages_forget_start();
        long after = resident_kilobytes();
        assert_true(after < before);
        assert_int_equal(written, 42);
        char copy[64];
        memset(copy, 'x', sizeof(copy));
        assert_int_equal(copy[63], 'x');
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_less_is_mapped_and_all_of_it_works)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
