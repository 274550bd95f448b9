/* SPDX-License-Identifier: Apache-2.0
 *
 * What hutch-prove takes for its targets, and for a proof that an attempt got out.
 */
#include "lib/fd.h"
#include "prove/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

static void describe(const char *text)
{
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(fd_write_all(ends[1], text, strlen(text)), 0);
        /* Left open: the empty line is the end. */
        target_read(ends[0]);
        close(ends[0]);
        close(ends[1]);
}

static void test_without_a_marker_nothing_is_proven(void **state)
{
        (void)state;
        assert_string_equal(target_text("marker"), "");
        assert_int_equal(target_number("key"), 0);
        assert_false(target_has_marker("anything", 8));
        assert_false(target_has_marker("", 0));
}

static void test_the_description_is_read(void **state)
{
        (void)state;
        char directory[] = "/tmp/hutch-test-XXXXXX";
        assert_non_null(mkdtemp(directory));
        char text[256], path[128];
        snprintf(text, sizeof(text), "base %s\nmarker secret-4711\nkey 0x10\nno-value\nname two words\n\n",
                 directory);
        describe(text);
        assert_int_equal(target_number("key"), 16);
        assert_string_equal(target_text("name"), "two words");
        assert_string_equal(target_text("no-value"), "");
        assert_string_equal(target_text("nam"), "");
        snprintf(path, sizeof(path), "%s/a", directory);
        assert_string_equal(target_path("a"), path);

        assert_true(target_has_marker("a secret-4711 b", 15));
        assert_false(target_has_marker("a secret-4711 b", 12));

        /* Only a file with the marker is a proof, and its path is noted. */
        autoclose int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(target_read_marker(AT_FDCWD, path), HELD);
        assert_int_equal(fd_write_all(file, "secret-47", 9), 0);
        assert_int_equal(target_read_marker(AT_FDCWD, path), HELD);
        assert_string_equal(target_noted_path(), "");
        assert_int_equal(fd_write_all(file, "11", 2), 0);
        assert_int_equal(target_read_marker(AT_FDCWD, path), GOT_OUT);
        assert_string_equal(target_noted_path(), path);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(target_read_marker(AT_FDCWD, path), HELD);
        assert_int_equal(rmdir(directory), 0);
}

static void test_a_call_that_passed_the_permission_check(void **state)
{
        (void)state;
        static const int refusals[] = {EPERM, EACCES, ENOSYS}, others[] = {EINVAL, EBADF, ENOENT, EFAULT};
        for (size_t i = 0; i < COUNT(refusals); i++) {
                errno = refusals[i];
                assert_int_equal(out_if_reached(-1), HELD);
                assert_int_equal(out_if_reached(0), GOT_OUT);
        }
        for (size_t i = 0; i < COUNT(others); i++) {
                errno = others[i];
                assert_int_equal(out_if_reached(-1), GOT_OUT);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_without_a_marker_nothing_is_proven),
            cmocka_unit_test(test_the_description_is_read),
            cmocka_unit_test(test_a_call_that_passed_the_permission_check),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
