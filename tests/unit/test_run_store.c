/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of runs in a made state directory: whose it must be, what is listed, and what is removed.
 */
#include "lib/fd.h"
#include "lib/str.h"
#include "run/run_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "machine_rig.h"
#include "unit.h"

static char home[] = "/tmp/hutch-test-home-XXXXXX"; /* hutch asks for HOME once */

static int set_up(void **state)
{
        return machine_set_up(state) || setenv("XDG_STATE_HOME", machine_directory, 1);
}

static char *path_of(const char *name)
{
        return str_format("%s/%s", machine_directory, name);
}

static bool exists(const char *name)
{
        autofree char *path = path_of(name);
        struct stat status;
        return lstat(path, &status) == 0;
}

static int open_store(bool create)
{
        int fd = run_store_open(create);
        if (fd >= 0)
                close(fd);
        return fd >= 0 ? 0 : fd;
}

/* ---- the directory ---- */

static void test_it_is_made_on_demand(void **state)
{
        struct stat status;
        (void)state;
        assert_int_equal(open_store(false), -ENOENT);
        assert_false(exists("hutch"));
        assert_int_equal(open_store(true), 0);
        assert_int_equal(open_store(false), 0);
        autofree char *path = path_of("hutch/runs");
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_mode & 07777, 0700);
        autofree char *deep = path_of("a/b");
        assert_int_equal(setenv("XDG_STATE_HOME", deep, 1), 0);
        assert_int_equal(open_store(false), -ENOENT);
        assert_int_equal(open_store(true), 0);
        assert_true(exists("a/b/hutch/runs"));
}

static void test_it_is_the_caller_s_alone(void **state)
{
        autofree char *runs = path_of("hutch/runs");
        autofree char *hutch = path_of("hutch");
        (void)state;
        assert_int_equal(open_store(true), 0);
        static const mode_t modes[] = {0710, 0701, 0720, 0777};
        for (size_t i = 0; i < COUNT(modes); i++) {
                assert_int_equal(chmod(runs, modes[i]), 0);
                assert_int_equal(open_store(true), -EPERM);
                assert_int_equal(chmod(runs, 0700), 0);
                assert_int_equal(chmod(hutch, modes[i]), 0);
                assert_int_equal(open_store(true), -EPERM);
                assert_int_equal(chmod(hutch, 0700), 0);
        }
        assert_int_equal(open_store(true), 0);
        if (geteuid() != 0)
                return;
        assert_int_equal(chown(runs, 12345, 0), 0);
        assert_int_equal(open_store(true), -EPERM);
        assert_int_equal(rmdir(runs), 0);
        assert_int_equal(rmdir(hutch), 0);
        /* Root makes nothing in the directory of another user. */
        assert_int_equal(chown(machine_directory, 12345, 0), 0);
        assert_int_equal(open_store(true), -EPERM);
        assert_false(exists("hutch"));
        autofree char *deep = path_of("a");
        assert_int_equal(setenv("XDG_STATE_HOME", deep, 1), 0);
        assert_int_equal(open_store(true), -EPERM);
        assert_false(exists("a"));
}

static void test_no_link_is_followed(void **state)
{
        autofree char *hutch = path_of("hutch");
        autofree char *elsewhere = path_of("elsewhere");
        (void)state;
        assert_int_equal(mkdir(elsewhere, 0700), 0);
        assert_int_equal(symlink(elsewhere, hutch), 0);
        assert_int_equal(open_store(true), -ENOTDIR);
        assert_int_equal(unlink(hutch), 0);
        machine_make_file("/hutch", "");
        assert_int_equal(open_store(true), -ENOTDIR);
        /* The user may keep the state elsewhere by a link of their own. */
        autofree char *link = path_of("link");
        assert_int_equal(symlink("elsewhere", link), 0);
        assert_int_equal(setenv("XDG_STATE_HOME", link, 1), 0);
        assert_int_equal(open_store(true), 0);
        assert_true(exists("elsewhere/hutch/runs"));
}

static void test_the_default_is_in_the_home(void **state)
{
        autofree char *runs = str_format("%s/.local/state/hutch/runs", home);
        struct stat status;
        (void)state;
        assert_int_equal(setenv("XDG_STATE_HOME", "relative", 1), 0);
        assert_int_equal(open_store(true), 0);
        assert_int_equal(stat(runs, &status), 0);
        assert_int_equal(setenv("XDG_STATE_HOME", "", 1), 0);
        assert_int_equal(open_store(false), 0);
        assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
        assert_int_equal(open_store(false), 0);
        static const char *const made[] = {".local/state/hutch/runs", ".local/state/hutch", ".local/state",
                                           ".local", ""};
        for (size_t i = 0; i < COUNT(made); i++) {
                autofree char *path = str_format("%s/%s", home, made[i]);
                assert_int_equal(rmdir(path), 0);
        }
        /* A home that does not exist is never made. */
        assert_int_equal(open_store(true), -ENOENT);
}

/* ---- what the sandbox could reach ---- */

static bool is_exposed(enum mount_kind kind, bool writable, const char *source)
{
        struct stat status = {0};
        (void)stat(source, &status);
        struct mount mounts[] = {
            {.kind = MOUNT_BIND, .source = (char *)"/usr", .device = 1, .inode = 1},
            {.kind = kind,
             .writable = writable,
             .source = (char *)source,
             .device = status.st_dev,
             .inode = status.st_ino},
        };
        struct box box = {.mounts = mounts, .mount_count = COUNT(mounts)};
        autoclose int runs = run_store_open(true);
        assert_true(runs >= 0);
        return run_store_is_exposed(runs, &box);
}

static void test_exposure(void **state)
{
        autofree char *runs = path_of("hutch/runs");
        autofree char *above = path_of("hutch");
        autofree char *below = path_of("hutch/runs/server");
        autofree char *beside = path_of("beside");
        (void)state;
        assert_int_equal(open_store(true), 0);
        assert_int_equal(mkdir(beside, 0700), 0);
        assert_int_equal(mkdir(below, 0700), 0);
        assert_true(is_exposed(MOUNT_BIND, true, runs));
        assert_true(is_exposed(MOUNT_BIND, true, above));
        assert_true(is_exposed(MOUNT_BIND, true, machine_directory));
        assert_true(is_exposed(MOUNT_BIND, true, "/"));
        assert_true(is_exposed(MOUNT_BIND, true, below));
        assert_false(is_exposed(MOUNT_BIND, true, beside));
        assert_false(is_exposed(MOUNT_BIND, false, above));
        assert_false(is_exposed(MOUNT_OVERLAY, true, above)); /* its changes vanish */
}

/* A directory above it may have another path too: its device and inode tell. */
static void test_exposure_by_another_path(void **state)
{
        struct stat status;
        (void)state;
        assert_int_equal(open_store(true), 0);
        autofree char *above = path_of("hutch");
        assert_int_equal(stat(above, &status), 0);
        struct mount mount = {.kind = MOUNT_BIND,
                              .writable = true,
                              .source = (char *)"/mnt/the-same",
                              .device = status.st_dev,
                              .inode = status.st_ino};
        struct box box = {.mounts = &mount, .mount_count = 1};
        autoclose int runs = run_store_open(false);
        assert_true(run_store_is_exposed(runs, &box));
        mount.device++;
        assert_false(run_store_is_exposed(runs, &box));
        mount.device--;
        /* Of the same file system, and not on the way up; 1 would be the root of a tmpfs. */
        autofree char *beside = path_of("beside");
        assert_int_equal(mkdir(beside, 0700), 0);
        assert_int_equal(stat(beside, &status), 0);
        mount.inode = status.st_ino;
        assert_false(run_store_is_exposed(runs, &box));
}

/* ---- runs ---- */

static int add_run(const char *name, uint32_t id, const char *text)
{
        autoclose int runs = run_store_open(true);
        assert_true(runs >= 0);
        int fd = run_store_add_run(runs, name, id);
        assert_true(fd >= 0);
        assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
        return fd;
}

static void test_a_run_is_listed(void **state)
{
        struct run_store_runs list;
        (void)state;
        assert_int_equal(run_store_read(NULL, &list), 0); /* no directory is no error */
        assert_int_equal(list.count, 0);
        int first = add_run("@scope/server", 0x12ab, "{}\n");
        int second = add_run("other", 0xffffffff, "{1}\n");
        assert_int_equal(run_store_read(NULL, &list), 0);
        assert_int_equal(list.count, 2);
        assert_string_equal(list.runs[0].name, "@scope/server");
        assert_string_equal(list.runs[0].id, "000012ab");
        assert_string_equal(list.runs[0].text, "{}\n");
        assert_int_equal(list.runs[0].text_length, 3);
        assert_true(list.runs[0].running && list.runs[1].running);
        assert_string_equal(list.runs[1].id, "ffffffff");
        assert_true(list.runs[0].started < list.runs[1].started);
        run_store_runs_free(&list);
        assert_int_equal(list.count, 0);
        close(first);
        assert_int_equal(run_store_read("@scope/server", &list), 0);
        assert_int_equal(list.count, 1);
        assert_false(list.runs[0].running);
        run_store_runs_free(&list);
        assert_int_equal(run_store_read("nobody", &list), 0);
        assert_int_equal(list.count, 0);
        close(second);
        assert_true(exists("hutch/runs/@scope%server"));
}

static size_t count_runs(const char *name)
{
        struct run_store_runs list;
        assert_int_equal(run_store_read(name, &list), 0);
        size_t count = list.count;
        run_store_runs_free(&list);
        return count;
}

static void test_only_the_last_are_kept(void **state)
{
        struct run_store_runs list;
        int running = add_run("server", 1, "running\n");
        (void)state;
        for (uint32_t i = 2; i <= RUN_STORE_RUNS_MAX; i++)
                close(add_run("server", i, "over\n"));
        assert_int_equal(count_runs("server"), RUN_STORE_RUNS_MAX);
        close(add_run("server", 100, "over\n"));
        assert_int_equal(count_runs("server"), RUN_STORE_RUNS_MAX + 1); /* the oldest is still running */
        close(running);
        close(add_run("server", 101, "over\n"));
        assert_int_equal(run_store_read("server", &list), 0);
        assert_int_equal(list.count, RUN_STORE_RUNS_MAX);
        assert_string_equal(list.runs[0].id, "00000003"); /* 1 and 2 are gone */
        assert_string_equal(list.runs[list.count - 1].id, "00000065");
        run_store_runs_free(&list);
}

static void make_run(const char *server, const char *file)
{
        autofree char *path = str_format("/hutch/runs/%s/%s", server, file);
        autofree char *directory = path_of("hutch/runs");
        autofree char *above = str_format("%s/%s", directory, server);
        machine_make_file(path, "{}\n");
        assert_int_equal(chmod(above, 0700), 0);
}

static void test_what_is_no_run_is_not_listed(void **state)
{
        static const char *const names[] = {"0000000000001.0000000",  "0000000000001.000000000",
                                            "0000000000001-00000001", "000000000000g.00000001",
                                            "0000000000001.0000000g", "x"};
        (void)state;
        assert_int_equal(open_store(true), 0);
        make_run("server", "0000000000001.00000001");
        for (size_t i = 0; i < COUNT(names); i++)
                make_run("server", names[i]);
        assert_int_equal(count_runs(NULL), 1);
        make_run("server", "0000000000002.00000002");
        assert_int_equal(count_runs(NULL), 2);
        /* Names that no server has, and directories that others may enter. */
        make_run("-server", "0000000000001.00000001");
        make_run("a b", "0000000000001.00000001");
        make_run("open", "0000000000001.00000001");
        autofree char *opened = path_of("hutch/runs/open");
        assert_int_equal(chmod(opened, 0755), 0);
        assert_int_equal(count_runs(NULL), 2);
        /* A link and a fifo are no runs, and reading does not wait for them. */
        autofree char *link = path_of("hutch/runs/server/0000000000003.00000003");
        autofree char *fifo = path_of("hutch/runs/server/0000000000004.00000004");
        assert_int_equal(symlink("0000000000001.00000001", link), 0);
        assert_int_equal(mkfifo(fifo, 0600), 0);
        assert_int_equal(count_runs(NULL), 2);
        /* Empty: a run that has not written yet. */
        machine_make_file("/hutch/runs/server/0000000000005.00000005", "");
        assert_int_equal(count_runs(NULL), 2);
        if (geteuid() == 0) {
                autofree char *path = path_of("hutch/runs/server/0000000000002.00000002");
                assert_int_equal(chown(path, 12345, 0), 0);
                assert_int_equal(count_runs(NULL), 1);
        }
}

static void test_order_of_the_list(void **state)
{
        struct run_store_runs list;
        (void)state;
        assert_int_equal(open_store(true), 0);
        make_run("b", "0000000000003.00000001");
        make_run("a", "0000000000004.00000001");
        make_run("c", "0000000000001.00000001");
        make_run("a", "0000000000002.00000001");
        assert_int_equal(run_store_read(NULL, &list), 0);
        assert_int_equal(list.count, 4);
        for (size_t i = 0; i < 4; i++)
                assert_int_equal(list.runs[i].started, i + 1);
        run_store_runs_free(&list);
}

static void set_age(const char *server, int seconds)
{
        autofree char *path = str_format("%s/hutch/runs/%s", machine_directory, server);
        const struct timespec times[] = {{.tv_sec = 1000000 - seconds / 10, .tv_nsec = 100 - seconds % 10},
                                         {.tv_sec = 1000000 - seconds / 10, .tv_nsec = 100 - seconds % 10}};
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* The server that was used longest ago goes, unless its sandbox still runs. */
static void test_only_some_servers_are_kept(void **state)
{
        (void)state;
        assert_int_equal(open_store(true), 0);
        int running = add_run("running", 1, "{}\n");
        for (int i = 1; i < RUN_STORE_SERVERS_MAX; i++) {
                autofree char *name = str_format("s%d", i);
                make_run(name, "0000000000001.00000001");
                set_age(name, 50);
        }
        set_age("running", 99);
        set_age("s7", 61); /* the same second as the next, a little later */
        set_age("s8", 62);
        set_age("s9", 70);
        close(add_run("one-more", 2, "{}\n"));
        assert_true(exists("hutch/runs/running"));
        assert_false(exists("hutch/runs/s9"));
        assert_true(exists("hutch/runs/s7") && exists("hutch/runs/s8"));
        close(add_run("and-another", 3, "{}\n"));
        assert_false(exists("hutch/runs/s8"));
        assert_true(exists("hutch/runs/s7"));
        close(running);
        /* A new run of a server that is known already removes nobody. */
        close(add_run("one-more", 4, "{}\n"));
        assert_true(exists("hutch/runs/running") && exists("hutch/runs/s7"));
        assert_int_equal(count_runs(NULL), RUN_STORE_SERVERS_MAX + 1);
}

/* What has the name of a run and is none goes with the oldest ones. */
static void test_what_a_killed_hutch_left(void **state)
{
        (void)state;
        assert_int_equal(open_store(true), 0);
        make_run("server", "0000000000001.00000001");
        autofree char *link = path_of("hutch/runs/server/0000000000000.00000000");
        assert_int_equal(symlink("/nowhere", link), 0);
        for (int i = 2; i < RUN_STORE_RUNS_MAX + 1; i++) {
                autofree char *name = str_format("%013x.%08x", i, i);
                make_run("server", name);
        }
        close(add_run("server", 99, "{}\n"));
        assert_false(exists("hutch/runs/server/0000000000000.00000000"));
        assert_false(exists("hutch/runs/server/0000000000001.00000001"));
        assert_true(exists("hutch/runs/server/0000000000002.00000002"));
}

static void test_ids(void **state)
{
        (void)state;
        uint32_t first = run_store_new_id();
        bool other = false;
        for (int i = 0; i < 5; i++)
                other |= run_store_new_id() != first;
        assert_true(other);
        assert_int_not_equal(first, getpid()); /* what it is without random numbers */
}

static void test_a_place_that_is_not_the_caller_s(void **state)
{
        (void)state;
        assert_int_equal(open_store(true), 0);
        make_run("server", "0000000000001.00000001");
        autofree char *path = path_of("hutch/runs/server");
        assert_int_equal(chmod(path, 0750), 0);
        autoclose int runs = run_store_open(false);
        assert_int_equal(run_store_add_run(runs, "server", 7), -EPERM);
}

#define MADE(test) cmocka_unit_test_setup_teardown(test, set_up, machine_tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
            MADE(test_it_is_made_on_demand),
            MADE(test_it_is_the_caller_s_alone),
            MADE(test_no_link_is_followed),
            MADE(test_the_default_is_in_the_home),
            MADE(test_exposure),
            MADE(test_exposure_by_another_path),
            MADE(test_a_run_is_listed),
            MADE(test_only_the_last_are_kept),
            MADE(test_what_is_no_run_is_not_listed),
            MADE(test_order_of_the_list),
            MADE(test_only_some_servers_are_kept),
            MADE(test_what_a_killed_hutch_left),
            MADE(test_ids),
            MADE(test_a_place_that_is_not_the_caller_s),
        };
        if (!mkdtemp(home) || setenv("HOME", home, 1) < 0)
                return 1;
        return cmocka_run_group_tests(tests, NULL, NULL);
}
