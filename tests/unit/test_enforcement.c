/* SPDX-License-Identifier: Apache-2.0
 *
 * Which mechanism ends up holding a limit, what pid 1 is told, and what each report of a mechanism becomes. A
 * socket plays systemd, and a made directory plays a cgroup.
 */
#include "enforce/enforcement.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/str.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "bus_rig.h"
#include "machine_rig.h"
#include "unit.h"

static struct box box;
static struct enforcement enforcement;
static struct launch launch;
static struct error error;
static int permission;    /* what pid 1 reads */
static char said[4096];   /* hutch's own lines */
static char limited[256]; /* what was reported as reached */

static void hear(void *context, const char *line, size_t length)
{
        (void)context;
        assert_true(strlen(said) + length < sizeof(said));
        strncat(said, line, length);
}

static void record_limit(void *context, const char *limit, const char *value, const char *mechanism)
{
        assert_ptr_equal(context, &box);
        snprintf(limited + strlen(limited), sizeof(limited) - strlen(limited), "%s %s %s\n", limit, value,
                 mechanism);
}

static int set_up(void **state)
{
        int pipe_ends[2];
        if (machine_set_up(state) || pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) < 0)
                return -1;
        permission = pipe_ends[0];
        launch = (struct launch){.permission = pipe_ends[1], .process = getpid()};
        box = (struct box){.outer_uid = 1000,
                           .proc = true,
                           .memory_fs_bytes = 1 << 30,
                           .limits = {.memory_bytes = 64 << 20, .pids = 50}};
        error = (struct error){0};
        said[0] = limited[0] = 0;
        messages_send_to(hear, NULL);
        enforcement = ENFORCEMENT_NONE_YET;
        return setenv("XDG_RUNTIME_DIR", machine_directory, 1);
}

static int tear_down(void **state)
{
        cgroup_remove(&enforcement.cgroup);
        messages_send_to(NULL, NULL);
        fd_close(&launch.permission);
        fd_close(&permission);
        return machine_tear_down(state);
}

static bool begin(void)
{
        return enforcement_begin(&enforcement, &box, record_limit, &box, &error);
}

/* What pid 1 was told the cgroup holds; -1: it still waits, -2: nobody will tell it. */
static int told(void)
{
        unsigned char byte;
        ssize_t length = read(permission, &byte, 1);
        return length == 1 ? byte : length < 0 ? -1 : -2;
}

static void expect_fallback(void)
{
        assert_int_equal(enforcement.limits.memory, LIMIT_WATCHDOG);
        assert_int_equal(enforcement.limits.processes, LIMIT_RLIMIT);
        assert_int_equal(enforcement.limits.way, CGROUP_WAY_NONE);
}

/* ---- which mechanism holds ---- */

static void test_no_cgroup(void **state)
{
        (void)state;
        box.limits.way = CGROUP_WAY_NONE;
        box.limits.memory = LIMIT_WATCHDOG;
        assert_true(begin());
        assert_int_equal(enforcement_cgroup(&enforcement), -1);
        assert_int_equal(enforcement.cgroup_deadline, -1);
        /* Nobody waits for permission. */
        int waiting = launch.permission;
        launch.permission = -1;
        assert_true(enforcement_request_cgroup(&enforcement, &launch, &error));
        launch.permission = waiting;
        assert_int_equal(told(), -1);
        assert_int_equal(enforcement.cgroup_deadline, -1);
        assert_string_equal(said, "");
}

static void test_what_was_given_and_is_not_held_is_said(void **state)
{
        (void)state;
        box.proc = false;
        box.limits.memory = LIMIT_NONE;
        box.limits.given = REQUIRE_MEMORY;
        box.limits.no_cgroup = "there is none";
        assert_true(begin());
        assert_non_null(strstr(said, "nothing here enforces --memory 64m"));
}

static void test_a_delegated_cgroup_that_holds_nothing(void **state)
{
        (void)state;
        box.limits.way = CGROUP_WAY_DELEGATED;
        box.limits.memory = LIMIT_CGROUP;
        snprintf(box.limits.cgroup, sizeof(box.limits.cgroup), "%s", machine_directory);
        assert_true(begin());
        expect_fallback();
        assert_int_equal(enforcement_cgroup(&enforcement), -1);
        autofree char *made = str_format("%s/hutch-%d", machine_directory, getpid());
        assert_int_not_equal(access(made, F_OK), 0);
}

static void test_what_is_required_is_refused(void **state)
{
        (void)state;
        box.limits.way = CGROUP_WAY_DELEGATED;
        box.required = REQUIRE_MEMORY;
        snprintf(box.limits.cgroup, sizeof(box.limits.cgroup), "%s", machine_directory);
        assert_false(begin());
        assert_int_equal(error.status, EXIT_SETUP);
        assert_non_null(strstr(error.text, "--require memory cannot be met"));
}

/* A cgroup with these limits, as the kernel shows it. */
static void open_cgroup(const char *cpus)
{
        machine_make_file("/memory.max", "67108864\n");
        machine_make_file("/pids.max", "51\n");
        machine_make_file("/cpu.max", cpus);
        machine_make_file("/memory.events", "");
        machine_make_file("/pids.events", "");
        enforcement.cgroup.directory = open(machine_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        enforcement.limits.way = CGROUP_WAY_DELEGATED;
        enforcement.limits.memory = enforcement.limits.processes = LIMIT_CGROUP;
        enforcement.limits.processors = enforcement.limits.cpus ? LIMIT_CGROUP : LIMIT_UNASKED;
        enforcement.launch = &launch;
}

static void test_a_cgroup_that_holds(void **state)
{
        static const struct {
                unsigned cpus;
                const char *text;
                int told;
                enum limit_mechanism processors;
        } cases[] = {
            {0, "max 100000\n", CGROUP_HOLDS | CGROUP_HOLDS_PROCESSORS, LIMIT_UNASKED},
            {50, "50000 100000\n", CGROUP_HOLDS | CGROUP_HOLDS_PROCESSORS, LIMIT_CGROUP},
            {50, "max 100000\n", CGROUP_HOLDS, LIMIT_NONE},
            {200, "max 100000\n", CGROUP_HOLDS, LIMIT_AFFINITY},
        };
        (void)state;
        for (size_t i = 0; i < COUNT(cases); i++) {
                int ends[2];
                box.limits.cpus = cases[i].cpus;
                assert_true(begin());
                open_cgroup(cases[i].text);
                assert_true(enforcement_settle_cgroup(&enforcement, true, &error));
                assert_int_equal(enforcement.limits.memory, LIMIT_CGROUP);
                assert_int_equal(enforcement.limits.processors, cases[i].processors);
                assert_int_equal(told(), cases[i].told);
                assert_int_equal(told(), -2); /* and no more */
                assert_true(enforcement.cgroup.directory >= 0);
                cgroup_remove(&enforcement.cgroup);
                enforcement = ENFORCEMENT_NONE_YET;
                close(permission);
                assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
                permission = ends[0];
                launch.permission = ends[1];
        }
}

/* One that was never made is not believed, whatever is in its place. */
static void test_a_cgroup_that_was_not_made(void **state)
{
        (void)state;
        assert_true(begin());
        open_cgroup("max 100000\n");
        assert_true(enforcement_settle_cgroup(&enforcement, false, &error));
        expect_fallback();
        assert_int_equal(told(), 0);
        assert_int_equal(enforcement.cgroup.directory, -1);
}

/* ---- systemd ---- */

static int systemd; /* the bus's end */

static void begin_with_systemd(void)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        box.limits.way = CGROUP_WAY_SYSTEMD;
        box.limits.memory = box.limits.processes = LIMIT_CGROUP;
        snprintf(address.sun_path, sizeof(address.sun_path), "%s/bus", machine_directory);
        autoclose int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(listen(listener, 1), 0);
        assert_true(begin());
        assert_true(enforcement_request_cgroup(&enforcement, &launch, &error));
        assert_true(enforcement.cgroup_deadline > clock_now_ms());
        systemd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        assert_true(systemd >= 0);
}

static enum enforcement_event read_events(void)
{
        struct pollfd polls[ENFORCEMENT_POLLS];
        enforcement_poll(&enforcement, polls);
        (void)poll(polls, ENFORCEMENT_POLLS, 0);
        return enforcement_read(&enforcement, polls, &error);
}

static void test_systemd_refuses(void **state)
{
        (void)state;
        begin_with_systemd();
        assert_int_equal(told(), -1);
        assert_int_equal(read_events(), ENFORCEMENT_NONE);
        assert_int_equal(write(systemd, "REJECTED\r\n", 10), 10);
        assert_int_equal(read_events(), ENFORCEMENT_NONE);
        expect_fallback();
        assert_string_equal(enforcement.limits.no_cgroup, "the bus rejected your user id");
        assert_int_equal(told(), 0); /* no cgroup holds anything */
        assert_int_equal(told(), -2);
        assert_int_equal(enforcement.cgroup_deadline, -1);
        close(systemd);
}

static void test_systemd_makes_a_scope_elsewhere(void **state)
{
        struct bus_message done;
        (void)state;
        box.required = REQUIRE_CGROUP;
        begin_with_systemd();
        bus_make_job_removed(&done, enforcement.cgroup.scope.name, "done");
        assert_int_equal(write(systemd, "OK\x20x\r\n", 6), 6);
        assert_int_equal(write(systemd, done.bytes, done.length), done.length);
        assert_int_equal(read_events(), ENFORCEMENT_LOST);
        assert_int_equal(error.status, EXIT_SETUP);
        assert_int_equal(told(), -1); /* the command never runs */
        close(systemd);
}

static void test_systemd_does_not_answer(void **state)
{
        (void)state;
        begin_with_systemd();
        assert_true(enforcement_meet_deadline(&enforcement, &error));
        assert_int_equal(told(), -1); /* not yet */
        enforcement.cgroup_deadline = clock_now_ms() + 60000;
        assert_true(enforcement_meet_deadline(&enforcement, &error));
        assert_int_equal(told(), -1);
        enforcement.cgroup_deadline = clock_now_ms();
        assert_true(enforcement_meet_deadline(&enforcement, &error));
        assert_string_equal(enforcement.limits.no_cgroup, "systemd did not answer in 5000 ms");
        assert_int_equal(told(), 0);
        assert_true(enforcement_meet_deadline(&enforcement, &error)); /* nothing is awaited any more */
        close(systemd);
}

static void test_systemd_does_not_answer_what_is_required(void **state)
{
        (void)state;
        box.required = REQUIRE_MEMORY;
        begin_with_systemd();
        enforcement.cgroup_deadline = clock_now_ms();
        assert_false(enforcement_meet_deadline(&enforcement, &error));
        assert_int_equal(error.status, EXIT_SETUP);
        close(systemd);
}

static void test_systemd_is_not_there(void **state)
{
        (void)state;
        box.limits.way = CGROUP_WAY_SYSTEMD;
        assert_true(begin());
        expect_fallback();
        box.required = REQUIRE_CGROUP;
        cgroup_remove(&enforcement.cgroup);
        enforcement = ENFORCEMENT_NONE_YET;
        assert_false(begin());
}

/* ---- the watchdog ---- */

static enum enforcement_event after_report(enum control_type type, int value)
{
        const struct control_message report = {.type = type, .value = value};
        return enforcement_hear(&enforcement, &report);
}

static void test_reports_of_the_watchdog(void **state)
{
        (void)state;
        box.limits.memory = LIMIT_WATCHDOG;
        box.limits.processes = LIMIT_RLIMIT;
        assert_true(begin());
        assert_int_equal(after_report(CONTROL_STOPPED, 5), ENFORCEMENT_NONE);
        assert_int_equal(after_report(CONTROL_PIDS, 51), ENFORCEMENT_NONE);
        assert_int_equal(after_report(CONTROL_DISK, 0), ENFORCEMENT_NONE);
        assert_false(enforcement.limit_hit);
        assert_int_equal(after_report(CONTROL_MEMORY, 70), ENFORCEMENT_LIMIT_REACHED);
        assert_true(enforcement.limit_hit);
        assert_int_equal(after_report(CONTROL_MEMORY, 71), ENFORCEMENT_LIMIT_REACHED);
        assert_string_equal(limited,
                            "pids 50 rlimit\ndisk 1g file system\nmemory 64m watchdog (can overshoot)\n");
        assert_string_equal(said, "[hutch] --pids 50 is used up: the command can start no further process or "
                                  "thread; --pids N permits more\n"
                                  "[hutch] a writable file system in memory is full: --disk 1g, or the SIZE "
                                  "of a --tmpfs, is used up\n"
                                  "[hutch] --memory 64m is used up (70 MiB or more were held): the sandbox "
                                  "was ended; --memory SIZE permits "
                                  "more\n");
}

static void test_a_watchdog_that_cannot_measure(void **state)
{
        (void)state;
        assert_true(begin());
        assert_int_equal(after_report(CONTROL_BLIND, 0), ENFORCEMENT_LOST);
        assert_non_null(strstr(said, "can no longer be measured"));
        assert_false(enforcement.limit_hit);
}

/* ---- the cgroup ---- */

static void open_event_files(const char *memory, const char *pids)
{
        autofree char *memory_path = str_format("%s/memory.events", machine_directory);
        autofree char *pids_path = str_format("%s/pids.events", machine_directory);
        machine_make_file("/memory.events", memory);
        machine_make_file("/pids.events", pids);
        enforcement.cgroup.memory_events = open(memory_path, O_RDONLY | O_CLOEXEC);
        enforcement.cgroup.pids_events = open(pids_path, O_RDONLY | O_CLOEXEC);
        enforcement.limits.memory = enforcement.limits.processes = LIMIT_CGROUP;
}

static enum enforcement_event after_event(size_t which)
{
        struct pollfd polls[ENFORCEMENT_POLLS] = {0};
        enforcement_poll(&enforcement, polls);
        assert_int_equal(polls[1].fd, enforcement.cgroup.memory_events);
        assert_int_equal(polls[2].fd, enforcement.cgroup.pids_events);
        polls[which].revents = POLLPRI;
        return enforcement_read(&enforcement, polls, &error);
}

static void test_events_of_the_cgroup(void **state)
{
        (void)state;
        assert_true(begin());
        open_event_files("oom_kill 0\n", "max 1\n");
        struct pollfd none[ENFORCEMENT_POLLS] = {0};
        assert_int_equal(enforcement_read(&enforcement, none, &error), ENFORCEMENT_NONE);
        assert_string_equal(limited, "");
        assert_int_equal(after_event(2), ENFORCEMENT_NONE);
        assert_string_equal(limited, "pids 50 cgroup\n");
        machine_make_file("/memory.events", "oom_kill 1\n");
        assert_int_equal(after_event(1), ENFORCEMENT_LIMIT_REACHED);
        assert_string_equal(limited, "pids 50 cgroup\nmemory 64m cgroup\n");
}

/* The kernel may have killed the sandbox before the event was read. */
static void test_the_last_event(void **state)
{
        (void)state;
        assert_true(begin());
        open_event_files("oom_kill 1\n", "max 0\n");
        assert_false(enforcement.limit_hit);
        (void)enforcement_read_cgroup(&enforcement);
        assert_true(enforcement.limit_hit);
        assert_string_equal(limited, "memory 64m cgroup\n");
}

static void test_a_cgroup_that_the_sandbox_begins_in(void **state)
{
        (void)state;
        assert_true(begin());
        enforcement.cgroup.directory = open(machine_directory, O_RDONLY | O_CLOEXEC);
        assert_int_equal(enforcement_cgroup(&enforcement), -1); /* systemd's: entered from outside */
        enforcement.cgroup.parent = open(machine_directory, O_RDONLY | O_CLOEXEC);
        assert_int_equal(enforcement_cgroup(&enforcement), enforcement.cgroup.directory);
}

#define MADE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
            MADE(test_no_cgroup),
            MADE(test_what_was_given_and_is_not_held_is_said),
            MADE(test_a_delegated_cgroup_that_holds_nothing),
            MADE(test_what_is_required_is_refused),
            MADE(test_a_cgroup_that_holds),
            MADE(test_a_cgroup_that_was_not_made),
            MADE(test_systemd_refuses),
            MADE(test_systemd_makes_a_scope_elsewhere),
            MADE(test_systemd_does_not_answer),
            MADE(test_systemd_does_not_answer_what_is_required),
            MADE(test_systemd_is_not_there),
            MADE(test_reports_of_the_watchdog),
            MADE(test_a_watchdog_that_cannot_measure),
            MADE(test_events_of_the_cgroup),
            MADE(test_the_last_event),
            MADE(test_a_cgroup_that_the_sandbox_begins_in),
        };
        alarm(60); /* what blocks has failed */
        return cmocka_run_group_tests(tests, NULL, NULL);
}
