/* SPDX-License-Identifier: Apache-2.0
 *
 * Real paths: through which links a path leads, what is not there, and that nothing is opened through a link.
 */
#include "lib/fd.h"
#include "lib/real_path.h"
#include "lib/tree_remove.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "unit.h"

static char *root;

static int begin(void **state)
{
        (void)state;
        char path[] = "/tmp/hutch-test-paths-XXXXXX";
        if (!mkdtemp(path))
                return -1;
        root = str_copy(path);
        return chdir(root);
}

static int end(void **state)
{
        (void)state;
        int failed = chdir("/") < 0 ? -1 : tree_remove(AT_FDCWD, root);
        free(root);
        return failed;
}

static char *at(const char *relative)
{
        static char paths[8][PATH_MAX];
        static unsigned next;
        char *path = paths[next++ % 8];
        snprintf(path, PATH_MAX, "%s%s%s", root, relative[0] ? "/" : "", relative);
        return path;
}

static void test_the_links_on_the_way(void **state)
{
        (void)state;
        struct path_links links = {0};
        assert_int_equal(mkdir("real", 0700) | mkdir("real/sub", 0700), 0);
        assert_int_equal(symlink("real", "first"), 0);
        assert_int_equal(symlink("../first//sub/.", "real/second"), 0);
        assert_int_equal(symlink(at("real/second"), "absolute"), 0);
        autofree char *real = real_path_resolve(at("absolute"), &links);
        assert_string_equal(real, at("real/sub"));
        assert_int_equal(links.places.count, 3);
        assert_string_equal(links.places.values[0], at("absolute"));
        assert_string_equal(links.places.values[1], at("real/second"));
        assert_string_equal(links.texts.values[1], "../first//sub/.");
        assert_string_equal(links.places.values[2], at("first"));
        real_path_free_links(&links);
        autofree char *top = real_path_resolve("/", &links);
        assert_string_equal(top, "/");
        autofree char *plain = real_path_resolve(at("real/sub/../../real"), &links);
        assert_string_equal(plain, at("real"));
        assert_int_equal(links.places.count, 0);
}

static void expect_failure(const char *relative, int expected)
{
        struct path_links links = {0};
        errno = 0;
        char *real = real_path_resolve(at(relative), &links);
        int found = errno;
        real_path_free_links(&links);
        assert_null(real);
        assert_int_equal(found, expected);
}

static void test_what_cannot_be_resolved(void **state)
{
        (void)state;
        struct path_links links = {0};
        char name[16], text[16];
        close(open("file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        assert_int_equal(symlink("loop", "loop") | symlink("gone", "dangling"), 0);
        expect_failure("none", ENOENT);
        expect_failure("none/x", ENOENT);
        expect_failure("dangling", ENOENT);
        expect_failure("file/x", ENOTDIR);
        expect_failure("loop", ELOOP);
        /* As many as the kernel follows, and one more. */
        assert_int_equal(symlink("file", "l1"), 0);
        for (unsigned i = 2; i <= 41; i++) {
                snprintf(name, sizeof(name), "l%u", i);
                snprintf(text, sizeof(text), "l%u", i - 1);
                assert_int_equal(symlink(text, name), 0);
        }
        autofree char *real = real_path_resolve(at("l40"), &links);
        assert_string_equal(real, at("file"));
        real_path_free_links(&links);
        assert_int_equal(open("l41", O_RDONLY | O_CLOEXEC), -1);
        expect_failure("l41", ELOOP);
}

static void test_the_links_as_far_as_a_path_exists(void **state)
{
        (void)state;
        struct str_list places = {0};
        assert_int_equal(mkdir("directory", 0700) | symlink("directory", "way"), 0);
        assert_int_equal(symlink("none", "directory/dangling"), 0);
        real_path_list_links(at("way/dangling/x"), &places);
        assert_int_equal(places.count, 2);
        assert_string_equal(places.values[0], at("way"));
        assert_string_equal(places.values[1], at("directory/dangling"));
        str_list_free(&places);
}

static void test_what_need_not_exist(void **state)
{
        (void)state;
        assert_int_equal(mkdir("there", 0700) | symlink("there", "spelled"), 0);
        static const struct {
                const char *path, *real;
        } cases[] = {{"spelled/a/b", "there/a/b"}, {"spelled", "there"}, {"a/b", "a/b"}};
        for (size_t i = 0; i < COUNT(cases); i++) {
                autofree char *real = real_path_of_missing(at(cases[i].path));
                assert_string_equal(real, at(cases[i].real));
        }
        autofree char *top = real_path_of_missing("/none-of-this/x");
        assert_string_equal(top, "/none-of-this/x");
        autofree char *slash = real_path_of_missing("/");
        assert_string_equal(slash, "/");
}

static void test_opening_follows_no_link(void **state)
{
        (void)state;
        assert_int_equal(mkdir("opened", 0700) | mkdir("opened/sub", 0700) | symlink("opened", "link"), 0);
        autoclose int directory = real_path_open(at("opened/sub"), O_PATH | O_DIRECTORY);
        assert_true(directory >= 0);
        assert_true(fcntl(directory, F_GETFD) & FD_CLOEXEC);
        autofree char *real = real_path_of_descriptor(directory);
        assert_string_equal(real, at("opened/sub"));
        assert_int_equal(real_path_open(at("link/sub"), O_PATH), -1);
        assert_int_equal(errno, ELOOP);
        assert_int_equal(real_path_open(at("link"), O_PATH), -1);
        assert_int_equal(errno, ELOOP);
        assert_int_equal(real_path_open("/proc/self/fd/0", O_PATH), -1);
        assert_int_equal(errno, ELOOP);
        assert_null(real_path_of_descriptor(-1));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_the_links_on_the_way),
            cmocka_unit_test(test_what_cannot_be_resolved),
            cmocka_unit_test(test_the_links_as_far_as_a_path_exists),
            cmocka_unit_test(test_what_need_not_exist),
            cmocka_unit_test(test_opening_follows_no_link),
        };
        return cmocka_run_group_tests(tests, begin, end);
}
