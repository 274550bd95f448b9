/* SPDX-License-Identifier: Apache-2.0
 *
 * What a path leads to and through which links, that one walker has one answer, and that nothing is opened
 * through a link. Every test runs a second time without openat2(2).
 */
#include "lib/fd.h"
#include "lib/path_walk.h"
#include "lib/tree_remove.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "unit.h"

static char *rig_root;
static struct walker walker;

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

static int begin(void **state)
{
        (void)state;
        char path[] = "/tmp/hutch-test-paths-XXXXXX";
        if (!mkdtemp(path))
                return -1;
        rig_root = str_copy(path);
        return chdir(rig_root);
}

static int end(void **state)
{
        (void)state;
        int failed = chdir("/") < 0 ? -1 : tree_remove(AT_FDCWD, rig_root);
        free(rig_root);
        walker_release(&walker);
        walker = (struct walker){0};
        walker = (struct walker){0};
        return failed;
}

static char *at(const char *relative)
{
        static char paths[8][PATH_MAX];
        static unsigned next;
        char *path = paths[next++ % 8];
        snprintf(path, PATH_MAX, "%s%s%s", rig_root, relative[0] ? "/" : "", relative);
        return path;
}

static void make_directories(void)
{
        assert_int_equal(mkdir("real", 0700) | mkdir("real/sub", 0700), 0);
}

static void make_file(const char *name, mode_t mode)
{
        autoclose int file = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(file >= 0);
        assert_int_equal(fchmod(file, mode), 0);
}

static void test_the_links_on_the_way(void **state)
{
        (void)state;
        make_directories();
        assert_int_equal(symlink("real", "first"), 0);
        assert_int_equal(symlink("../first//sub/.", "real/second"), 0);
        assert_int_equal(symlink(at("real/second"), "absolute"), 0);
        const struct walked *walked = path_walk(&walker, at("absolute"));
        assert_string_equal(walked->real, at("real/sub"));
        assert_int_equal(walked->links.count, 3);
        assert_string_equal(walked->links.values[0], at("absolute"));
        assert_string_equal(walked->links.values[1], at("real/second"));
        assert_string_equal(walked->texts.values[1], "../first//sub/.");
        assert_string_equal(walked->links.values[2], at("first"));
        assert_string_equal(path_walk_real(&walker, "/"), "/");
        walked = path_walk(&walker, at("real/sub/../../real"));
        assert_string_equal(walked->real, at("real"));
        assert_int_equal(walked->links.count, 0);
        /* Behind a link, `..` is the directory above its target. */
        assert_string_equal(path_walk_real(&walker, at("absolute/..")), at("real"));
}

static void test_what_the_object_is(void **state)
{
        (void)state;
        struct stat status, held;
        make_directories();
        make_file("real/file", 0640);
        assert_int_equal(symlink("real/file", "to-file"), 0);
        const struct walked *walked = path_walk(&walker, at("to-file"));
        assert_int_equal(walked->problem, 0);
        assert_int_equal(stat("to-file", &status), 0);
        assert_int_equal(walked->status.st_ino, status.st_ino);
        assert_int_equal(walked->status.st_dev, status.st_dev);
        assert_int_equal(walked->status.st_uid, geteuid());
        assert_int_equal(walked->status.st_mode, S_IFREG | 0640);
        assert_true(fcntl(walked->descriptor, F_GETFL) & O_PATH);
        assert_true(fcntl(walked->descriptor, F_GETFD) & FD_CLOEXEC);
        assert_int_equal(fstat(walked->descriptor, &held), 0);
        assert_int_equal(held.st_ino, status.st_ino);
        assert_true(path_walk_is_directory(&walker, at("real/sub")));
        assert_false(path_walk_is_directory(&walker, at("to-file")));
        assert_false(path_walk_is_directory(&walker, at("none")));
        /* A fifo is not opened: that would wait for a writer. */
        assert_int_equal(mkfifo("fifo", 0600), 0);
        assert_int_equal(path_walk(&walker, at("fifo"))->problem, 0);
}

static void test_one_answer(void **state)
{
        (void)state;
        make_directories();
        assert_int_equal(symlink("real", "link"), 0);
        const struct walked *first = path_walk(&walker, at("link"));
        assert_null(path_walk_real(&walker, at("later")));
        ino_t inode = first->status.st_ino;
        assert_int_equal(rename("real", "moved") | mkdir("real", 0700) | mkdir("later", 0700), 0);
        assert_ptr_equal(path_walk(&walker, at("link")), first);
        assert_null(path_walk_real(&walker, at("later")));
        /* The real path that an earlier walk ended at means the same object. */
        const struct walked *same = path_walk(&walker, at("real"));
        assert_int_equal(same->status.st_ino, inode);
        assert_int_equal(same->descriptor, first->descriptor);
        assert_int_equal(same->links.count, 0);
        int descriptor = first->descriptor;
        walker_release(&walker);
        assert_int_equal(fcntl(descriptor, F_GETFD), -1);
        assert_int_not_equal(path_walk(&walker, at("real"))->status.st_ino, inode);
        assert_non_null(path_walk_real(&walker, at("later")));
}

static void test_no_descriptor_is_kept(void **state)
{
        (void)state;
        make_directories();
        walker.keeps_no_descriptor = true;
        const struct walked *walked = path_walk(&walker, at("real/sub"));
        assert_string_equal(walked->real, at("real/sub"));
        assert_true(S_ISDIR(walked->status.st_mode));
        assert_int_equal(walked->descriptor, -1);
}

static void expect_failure(const char *relative, int expected)
{
        const struct walked *walked = path_walk(&walker, at(relative));
        assert_null(walked->real);
        assert_int_equal(walked->descriptor, -1);
        assert_int_equal(walked->problem, expected);
}

static void test_what_cannot_be_walked(void **state)
{
        (void)state;
        char name[16], text[16];
        make_file("file", 0600);
        assert_int_equal(symlink("loop", "loop") | symlink("gone", "dangling"), 0);
        expect_failure("none", ENOENT);
        expect_failure("none/x", ENOENT);
        expect_failure("none/..", ENOENT);
        expect_failure("dangling", ENOENT);
        expect_failure("file/x", ENOTDIR);
        expect_failure("file/..", ENOTDIR);
        expect_failure("loop", ELOOP);
        /* As many as the kernel follows, and one more. */
        assert_int_equal(symlink("file", "l1"), 0);
        for (unsigned i = 2; i <= 41; i++) {
                snprintf(name, sizeof(name), "l%u", i);
                snprintf(text, sizeof(text), "l%u", i - 1);
                assert_int_equal(symlink(text, name), 0);
        }
        assert_string_equal(path_walk_real(&walker, at("l40")), at("file"));
        assert_int_equal(open("l41", O_RDONLY | O_CLOEXEC), -1);
        expect_failure("l41", ELOOP);
}

static void test_the_links_as_far_as_a_path_exists(void **state)
{
        (void)state;
        assert_int_equal(mkdir("directory", 0700) | symlink("directory", "way"), 0);
        assert_int_equal(symlink("none", "directory/dangling"), 0);
        const struct walked *walked = path_walk(&walker, at("way/dangling/x"));
        assert_int_equal(walked->problem, ENOENT);
        assert_int_equal(walked->links.count, 2);
        assert_string_equal(walked->links.values[0], at("way"));
        assert_string_equal(walked->links.values[1], at("directory/dangling"));
}

static void test_what_need_not_exist(void **state)
{
        (void)state;
        assert_int_equal(mkdir("there", 0700) | symlink("there", "spelled"), 0);
        static const struct {
                const char *path, *real;
        } cases[] = {{"spelled/a/b", "there/a/b"},
                     {"spelled", "there"},
                     {"a/b", "a/b"},
                     {"dangling/x", "there/none/x"}};
        assert_int_equal(symlink("there/none", "dangling"), 0);
        for (size_t i = 0; i < COUNT(cases); i++) {
                autofree char *real = path_walk_missing(&walker, at(cases[i].path));
                assert_string_equal(real, at(cases[i].real));
        }
        autofree char *top = path_walk_missing(&walker, "/none-of-this/x");
        assert_string_equal(top, "/none-of-this/x");
        autofree char *slash = path_walk_missing(&walker, "/");
        assert_string_equal(slash, "/");
}

static void expect_refused(int directory, const char *path, int flags, int expected)
{
        errno = 0;
        assert_int_equal(real_path_open(directory, path, flags), -1);
        assert_int_equal(errno, expected);
}

static void test_opening_follows_no_link(void **state)
{
        (void)state;
        make_directories();
        make_file("real/file", 0600);
        assert_int_equal(symlink("real", "link") | symlink("file", "real/end"), 0);
        autoclose int directory = real_path_open(AT_FDCWD, at("real/sub"), O_PATH | O_DIRECTORY);
        assert_true(directory >= 0);
        assert_true(fcntl(directory, F_GETFD) & FD_CLOEXEC);
        autofree char *real = real_path_of_descriptor(directory);
        assert_string_equal(real, at("real/sub"));
        autoclose int above = real_path_open(AT_FDCWD, rig_root, O_PATH | O_DIRECTORY);
        autoclose int file = real_path_open(above, "real/file", O_RDONLY);
        assert_true(file >= 0 && !(fcntl(file, F_GETFL) & O_PATH));
        autoclose int same = real_path_open(above, ".", O_PATH | O_DIRECTORY);
        assert_true(same >= 0);
        expect_refused(AT_FDCWD, at("link/sub"), O_PATH, ELOOP);
        expect_refused(AT_FDCWD, at("link"), O_PATH, ELOOP);
        expect_refused(AT_FDCWD, at("link"), O_PATH | O_DIRECTORY, ELOOP);
        expect_refused(above, "real/end", O_RDONLY, ELOOP);
        expect_refused(above, "real/end", O_PATH, ELOOP);
        expect_refused(above, "real/none", O_PATH, ENOENT);
        expect_refused(above, "real/file", O_PATH | O_DIRECTORY, ENOTDIR);
        expect_refused(above, "real/file/x", O_PATH, ENOTDIR);
        expect_refused(AT_FDCWD, "/proc/self/fd/0", O_PATH, ELOOP);
        assert_null(real_path_of_descriptor(-1));
}

/* As the filter of a container that does not know the call. */
static int refuse_openat2(void)
{
        struct sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = {.len = COUNT(code), .filter = code};
        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) |
               prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            TEST(test_the_links_on_the_way),
            TEST(test_what_the_object_is),
            TEST(test_one_answer),
            TEST(test_no_descriptor_is_kept),
            TEST(test_what_cannot_be_walked),
            TEST(test_the_links_as_far_as_a_path_exists),
            TEST(test_what_need_not_exist),
            TEST(test_opening_follows_no_link),
        };
        int failed = cmocka_run_group_tests_name("path walk", tests, NULL, NULL);
        if (refuse_openat2() != 0)
                return 1;
        return failed + cmocka_run_group_tests_name("path walk without openat2", tests, NULL, NULL);
}
