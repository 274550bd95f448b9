/* SPDX-License-Identifier: Apache-2.0
 *
 * A made directory stands for a cgroup: what is written there, what is believed of what is read back, and
 * what is removed.
 */
#include "enforce/cgroup.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "bus_rig.h"
#include "machine_rig.h"
#include "unit.h"

static struct limits limits;
static struct cgroup cgroup;

static int set_up(void **state)
{
        limits = (struct limits){.memory_bytes = 64 << 20, .pids = 50, .cpus = 150};
        cgroup = (struct cgroup)CGROUP_NONE_YET;
        snprintf(cgroup.name, sizeof(cgroup.name), "a-group");
        return machine_set_up(state);
}

static int tear_down(void **state)
{
        cgroup_remove(&cgroup);
        return machine_tear_down(state);
}

/* Opens the made directory as the cgroup, with files as the kernel has them after everything was accepted. */
static void open_good(void)
{
        machine_make_file("/memory.max", "67108864\n");
        machine_make_file("/memory.swap.max", "0\n");
        machine_make_file("/memory.oom.group", "0\n");
        machine_make_file("/pids.max", "51\n");
        machine_make_file("/cpu.max", "150000 100000\n");
        machine_make_file("/memory.events", "low 0\noom 0\noom_kill 0\noom_group_kill 0\n");
        machine_make_file("/pids.events", "max 0\n");
        cgroup.directory = open(machine_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(cgroup.directory >= 0);
}

static void assert_file(const char *name, const char *expected)
{
        autofree char *path = str_format("%s/%s", machine_directory, name);
        char *content = NULL;
        assert_true(fd_read_file(path, 1 << 16, &content) >= 0);
        autofree char *text = content;
        assert_string_equal(text, expected);
}

/* ---- limits ---- */

static void test_limits_are_written(void **state)
{
        (void)state;
        open_good();
        machine_make_file("/memory.max", "");
        machine_make_file("/pids.max", "");
        machine_make_file("/cpu.max", "");
        assert_int_equal(cgroup_set_limits(&cgroup, &limits), 0);
        assert_file("memory.max", "67108864");
        assert_file("pids.max", "51");
        assert_file("cpu.max", "150000 100000");
        limits.cpus = 0;
        machine_make_file("/cpu.max", "as it was");
        assert_int_equal(cgroup_set_limits(&cgroup, &limits), 0);
        assert_file("cpu.max", "as it was");
        autofree char *pids = str_format("%s/pids.max", machine_directory);
        assert_int_equal(unlink(pids), 0);
        assert_int_equal(cgroup_set_limits(&cgroup, &limits), -ENOENT);
}

static bool verify(bool *processors)
{
        fd_close(&cgroup.memory_events);
        fd_close(&cgroup.pids_events);
        cgroup.why[0] = 0;
        return cgroup_verify(&cgroup, &limits, processors);
}

static void expect_refused(const char *name, const char *content, const char *why)
{
        bool processors;
        open_good();
        machine_make_file(name, content);
        assert_false(verify(&processors));
        assert_string_equal(cgroup.why, why);
        fd_close(&cgroup.directory);
}

static void test_what_is_read_back(void **state)
{
        bool processors = false;
        (void)state;
        open_good();
        assert_true(verify(&processors));
        assert_true(processors);
        assert_file("memory.oom.group", "1\n"); /* one character of the old text is overwritten */
        assert_true(cgroup.memory_events >= 0 && cgroup.pids_events >= 0);
        machine_make_file("/memory.max", "67104768\n"); /* whole pages */
        machine_make_file("/pids.max", "10\n");
        assert_true(verify(&processors));
        fd_close(&cgroup.directory);
        expect_refused("/memory.max", "max\n", "memory has no limit in a-group");
        expect_refused("/memory.max", "67108865\n", "memory has no limit in a-group");
        expect_refused("/memory.max", "", "memory has no limit in a-group");
        expect_refused("/pids.max", "max\n", "processes have no limit in a-group");
        expect_refused("/pids.max", "52\n", "processes have no limit in a-group");
}

static void test_processors(void **state)
{
        static const struct {
                const char *text;
                bool held;
        } cases[] = {
            {"150000 100000\n", true},
            {"75000 50000\n", true},
            {"150001 100000\n", false},
            {"max 100000\n", false},
            {"1 0\n", false},
            {"150000\n", false},
            {"", false},
        };
        (void)state;
        open_good();
        for (size_t i = 0; i < COUNT(cases); i++) {
                bool processors = !cases[i].held;
                machine_make_file("/cpu.max", cases[i].text);
                assert_true(verify(&processors)); /* not holding these refuses nothing by itself */
                assert_int_equal(processors, cases[i].held);
        }
}

static void test_swap(void **state)
{
        bool processors;
        autofree char *path = str_format("%s/memory.swap.max", machine_directory);
        (void)state;
        open_good();
        /* What systemd left open is closed. */
        machine_make_file("/memory.swap.max", "max\n");
        assert_true(verify(&processors));
        assert_file("memory.swap.max", "0ax\n");
        machine_make_file("/memory.swap.max", "4096\n");
        assert_true(verify(&processors));
        assert_file("memory.swap.max", "0096\n");
        /* Without a swap controller there is no such file. */
        assert_int_equal(unlink(path), 0);
        assert_true(verify(&processors));
        fd_close(&cgroup.directory);
        if (geteuid() == 0)
                return; /* root may write to any file */
        for (int i = 0; i < 2; i++) {
                open_good();
                machine_make_file("/memory.swap.max", i ? "max\n" : "4096\n");
                assert_int_equal(chmod(path, 0400), 0);
                assert_false(verify(&processors));
                assert_string_equal(cgroup.why, "swap has no limit in a-group");
                assert_int_equal(unlink(path), 0);
                fd_close(&cgroup.directory);
        }
}

static void test_without_event_files(void **state)
{
        static const char *const names[] = {"memory.events", "pids.events"};
        bool processors;
        (void)state;
        for (size_t i = 0; i < COUNT(names); i++) {
                autofree char *path = str_format("%s/%s", machine_directory, names[i]);
                open_good();
                assert_int_equal(unlink(path), 0);
                assert_false(verify(&processors));
                assert_string_equal(cgroup.why, "a-group has no event files");
                fd_close(&cgroup.directory);
        }
}

/* ---- events ---- */

static void test_events(void **state)
{
        bool processors;
        (void)state;
        assert_int_equal(cgroup_read_events(&cgroup), CGROUP_EVENT_NONE); /* no files */
        open_good();
        assert_true(verify(&processors));
        assert_int_equal(cgroup_read_events(&cgroup), CGROUP_EVENT_NONE);
        machine_make_file("/pids.events", "max 3\n");
        assert_int_equal(cgroup_read_events(&cgroup), CGROUP_EVENT_PIDS);
        assert_int_equal(cgroup_read_events(&cgroup), CGROUP_EVENT_NONE); /* once */
        machine_make_file("/memory.events", "low 0\noom 7\nmax 9\noom_kill_other 1\noom_kill 0\n");
        assert_int_equal(cgroup_read_events(&cgroup), CGROUP_EVENT_NONE);
        machine_make_file("/memory.events", "low 0\noom_kill 1\n");
        assert_int_equal(cgroup_read_events(&cgroup), CGROUP_EVENT_MEMORY);
        machine_make_file("/memory.events", "oom_kill 0\noom_group_kill 1\n");
        assert_int_equal(cgroup_read_events(&cgroup), CGROUP_EVENT_MEMORY);
}

/* ---- delegated ---- */

static pid_t process_that_ended(void)
{
        pid_t child = fork();
        if (child == 0)
                _exit(0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        return child;
}

static bool exists(const char *name)
{
        autofree char *path = str_format("%s/%s", machine_directory, name);
        return access(path, F_OK) == 0;
}

/* A directory that is no cgroup has none of the files, so its limits are not accepted; what was made is
 * removed again. */
static void test_making_one(void **state)
{
        char name[64];
        (void)state;
        snprintf(limits.cgroup, sizeof(limits.cgroup), "%s/absent", machine_directory);
        assert_false(cgroup_create(&cgroup, &limits));
        assert_non_null(strstr(cgroup.why, "/absent: No such file"));
        assert_int_equal(cgroup.parent, -1);
        snprintf(limits.cgroup, sizeof(limits.cgroup), "%s", machine_directory);
        assert_false(cgroup_create(&cgroup, &limits));
        assert_non_null(strstr(cgroup.why, "accepts no limits: No such file"));
        snprintf(name, sizeof(name), "hutch-%d", getpid());
        assert_string_equal(cgroup.name, name);
        assert_true(exists(name));
        assert_true(cgroup.directory >= 0 && cgroup.parent >= 0);
        cgroup_remove(&cgroup);
        assert_false(exists(name));
        assert_int_equal(cgroup.parent, -1);
        /* A name that is taken is somebody else's. */
        autofree char *path = str_format("/%s/x", name);
        machine_make_file(path, "");
        cgroup = (struct cgroup)CGROUP_NONE_YET;
        assert_false(cgroup_create(&cgroup, &limits));
        assert_non_null(strstr(cgroup.why, "cannot make a cgroup in"));
        cgroup_remove(&cgroup);
        assert_true(exists(name));
}

static void test_what_a_killed_hutch_left(void **state)
{
        char gone[64], used[64], living[64];
        const char *const names[] = {gone,      used,      living,    "hutch-",
                                     "hutch-x", "other-1", "hutch-0", "hutch-1"};
        (void)state;
        snprintf(gone, sizeof(gone), "hutch-%d", process_that_ended());
        snprintf(used, sizeof(used), "hutch-%d", process_that_ended());
        snprintf(living, sizeof(living), "hutch-%d", getppid());
        for (size_t i = 0; i < COUNT(names); i++) {
                autofree char *path = str_format("%s/%s", machine_directory, names[i]);
                (void)mkdir(path, 0700);
        }
        autofree char *file = str_format("/%s/x", used);
        machine_make_file(file, "");
        snprintf(limits.cgroup, sizeof(limits.cgroup), "%s", machine_directory);
        (void)cgroup_create(&cgroup, &limits);
        assert_true(str_equal(gone, used) || !exists(gone));
        for (size_t i = 1; i < COUNT(names); i++)
                assert_true(exists(names[i]));
}

/* ---- systemd ---- */

static void expect_path(const char *text, const char *expected)
{
        autofree char *path = limits_cgroup_path(text);
        if (!expected)
                assert_null(path);
        else
                assert_string_equal(path, expected);
}

static void test_paths(void **state)
{
        (void)state;
        expect_path("0::/user.slice/a.scope\n", "/user.slice/a.scope");
        expect_path("12:pids:/x\n1:name=systemd:/y\n0::/a.scope\n", "/a.scope");
        expect_path("0::/", "/");
        expect_path("", NULL);
        expect_path("1:name=systemd:/y\n", NULL);
        expect_path("10::/a.scope\n", NULL); /* another hierarchy */
}

/* systemd reports that the job of a scope called so is done. */
static void answer(const char *name)
{
        int ends[2];
        struct bus_message done;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        fd_close(&cgroup.scope.socket);
        cgroup.scope = (struct systemd_scope){.socket = ends[0]};
        snprintf(cgroup.scope.name, sizeof(cgroup.scope.name), "%s", name);
        bus_make_job_removed(&done, name, "done");
        assert_int_equal(write(ends[1], "OK 0\r\n", 6), 6);
        assert_int_equal(cgroup_read_systemd(&cgroup, getpid()), SYSTEMD_SCOPE_WAITING);
        assert_true(cgroup.scope.socket >= 0);
        assert_int_equal(write(ends[1], done.bytes, done.length), done.length);
        close(ends[1]);
}

/* Done is not enough: the process must be in the scope. */
static void test_a_scope_without_the_process(void **state)
{
        (void)state;
        answer("hutch-1-2.scope");
        assert_int_equal(cgroup_read_systemd(&cgroup, getpid()), SYSTEMD_SCOPE_REFUSED);
        assert_int_equal(cgroup.scope.socket, -1);
        assert_int_equal(cgroup.directory, -1);
        char *content = NULL;
        assert_true(fd_read_file("/proc/self/cgroup", 1 << 16, &content) >= 0);
        autofree char *text = content;
        autofree char *path = limits_cgroup_path(text);
        assert_string_equal(cgroup.why, path ? "systemd did not put the sandbox into its scope"
                                             : "the sandbox is in no cgroup");
        answer("hutch-1-2.scope");
        pid_t gone = process_that_ended();
        assert_int_equal(cgroup_read_systemd(&cgroup, gone), SYSTEMD_SCOPE_REFUSED);
        assert_non_null(strstr(cgroup.why, "cannot be read"));
}

static void test_the_bus_hangs_up(void **state)
{
        (void)state;
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        cgroup.scope = (struct systemd_scope){.socket = ends[0]};
        close(ends[1]);
        assert_int_equal(cgroup_read_systemd(&cgroup, getpid()), SYSTEMD_SCOPE_REFUSED);
        assert_int_equal(cgroup.scope.socket, -1);
        assert_string_equal(cgroup.why, "the bus closed the connection or sent too much");
}

static void test_no_systemd(void **state)
{
        (void)state;
        assert_int_equal(setenv("XDG_RUNTIME_DIR", machine_directory, 1), 0);
        assert_false(cgroup_connect_systemd(&cgroup, 1000));
        autofree char *expected = str_format("%s/bus: No such file or directory", machine_directory);
        assert_string_equal(cgroup.why, expected);
        machine_make_file("/bus", "");
        assert_false(cgroup_connect_systemd(&cgroup, 1000));
        assert_non_null(strstr(cgroup.why, "/bus: Connection refused"));
        assert_false(cgroup_request_scope(&cgroup, 1, &limits));
        assert_string_equal(cgroup.why, "cannot ask systemd: Bad file descriptor");
}

#define MADE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
            MADE(test_limits_are_written),  MADE(test_what_is_read_back),
            MADE(test_processors),          MADE(test_swap),
            MADE(test_without_event_files), MADE(test_events),
            MADE(test_making_one),          MADE(test_what_a_killed_hutch_left),
            cmocka_unit_test(test_paths),   MADE(test_a_scope_without_the_process),
            MADE(test_the_bus_hangs_up),    MADE(test_no_systemd),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
