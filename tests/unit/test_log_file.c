/* SPDX-License-Identifier: Apache-2.0
 *
 * Which files --log and --pin may append to.
 */
#include "lib/fd.h"
#include "lib/str.h"
#include "run/log_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "machine_rig.h"
#include "unit.h"

static struct mount mount;
static struct box box;

/* A box with one writable grant, DIRECTORY/granted. */
static int set_up(void **state)
{
        struct stat status;
        if (machine_set_up(state))
                return -1;
        machine_make_file("/granted/.keep", "");
        char *granted = str_format("%s/granted", machine_directory);
        if (stat(granted, &status) < 0)
                return -1;
        mount = (struct mount){.kind = MOUNT_BIND,
                               .source = granted,
                               .destination = str_copy(granted),
                               .writable = true,
                               .is_directory = true,
                               .device = status.st_dev,
                               .inode = status.st_ino,
                               .origin = ORIGIN_OPTION,
                               .why = (char *)"--rw"};
        box = (struct box){.mounts = &mount, .mount_count = 1};
        return 0;
}

static int tear_down(void **state)
{
        free(mount.source);
        free(mount.destination);
        return machine_tear_down(state);
}

/* The file, or -1; `says`: a part of the sentence then. */
static int open_log(const char *name, const char *says)
{
        struct error error = {0};
        autofree char *path = str_format("%s/%s", machine_directory, name);
        int fd = log_file_open(&box, "--log", path, O_WRONLY, &error);
        if (!says) {
                assert_string_equal(error.text, "");
                assert_true(fd >= 0);
                return fd;
        }
        assert_int_equal(fd, -1);
        assert_int_equal(error.status, EXIT_SETUP);
        autofree char *start = str_format("--log %s: ", path);
        assert_true(str_starts(error.text, start));
        if (!strstr(error.text, says))
                fail_msg("%s: %s", error.text, says);
        return -1;
}

static void make_link(const char *target, const char *name)
{
        autofree char *path = str_format("%s/%s", machine_directory, name);
        assert_int_equal(symlink(target, path), 0);
}

static void test_it_is_made_and_appended_to(void **state)
{
        struct stat status;
        char text[32] = "";
        autofree char *path = str_format("%s/log", machine_directory);
        (void)state;
        for (int i = 0; i < 2; i++) {
                autoclose int fd = open_log("log", NULL);
                assert_int_equal(write(fd, "line\n", 5), 5);
                assert_int_equal(fstat(fd, &status), 0);
                assert_int_equal(status.st_mode & 07777, 0600);
                assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
        }
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
        assert_int_equal(read(fd, text, sizeof(text)), 10);
        assert_string_equal(text, "line\nline\n");
}

static void test_what_the_sandbox_could_write_to(void **state)
{
        static const char says[] = "the sandbox could write to it";
        (void)state;
        (void)open_log("granted/log", says);
        machine_make_file("/granted/deep/.keep", "");
        (void)open_log("granted/deep/log", says);
        /* A way that leads through the grant, or ends in it. */
        make_link("granted", "into");
        (void)open_log("into/log", says);
        machine_make_file("/outside/.keep", "");
        make_link("../outside", "granted/out");
        (void)open_log("granted/out/log", says);
        make_link("outside", "other");
        close(open_log("other/log", NULL));
        /* Read-only is no danger. */
        mount.writable = false;
        close(open_log("granted/log", NULL));
}

static void test_what_is_no_file_of_the_caller_s(void **state)
{
        (void)state;
        machine_make_file("/directory/.keep", "");
        (void)open_log("directory", "Is a directory");
        machine_make_file("/file", "");
        make_link("file", "link");
        (void)open_log("link", "it is a link; name the file itself");
        autofree char *fifo = str_format("%s/fifo", machine_directory);
        assert_int_equal(mkfifo(fifo, 0600), 0);
        (void)open_log("fifo", "No such device"); /* without waiting for a reader */
        autoclose int reader = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        (void)open_log("fifo", "not a regular file");
        (void)open_log("absent/log", "its directory does not exist");
        (void)open_log("file/log", "Not a directory");
        autofree char *file = str_format("%s/file", machine_directory);
        autofree char *second = str_format("%s/second", machine_directory);
        close(open_log("file", NULL));
        assert_int_equal(link(file, second), 0);
        (void)open_log("file", "belongs to another account, or has a second hard link");
        assert_int_equal(unlink(second), 0);
        close(open_log("file", NULL));
        if (geteuid() == 0) {
                assert_int_equal(chown(file, 12345, 0), 0);
                (void)open_log("file", "belongs to another account");
        }
}

#define MADE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
            MADE(test_it_is_made_and_appended_to),
            MADE(test_what_the_sandbox_could_write_to),
            MADE(test_what_is_no_file_of_the_caller_s),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
