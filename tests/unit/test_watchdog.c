/* SPDX-License-Identifier: Apache-2.0
 *
 * What the watchdog concludes from a measurement, and the process itself over a made /proc.
 */
#include "enforce/memory_use.h"
#include "enforce/watchdog.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "machine_rig.h"
#include "unit.h"

#define MIB (1ULL << 20)

enum { BOUND_MS = 20000 };

static const struct limits limits = {.memory_bytes = 1000 * MIB, .pids = 50};

/* ---- judging ---- */

static struct watchdog_history history;

static int begin_history(void **state)
{
        (void)state;
        history = (struct watchdog_history){0};
        return 0;
}

static int wait_after(uint64_t bytes, uint64_t worked_us)
{
        int wait = -2;
        struct memory_use use = {.bytes = bytes};
        assert_int_equal(watchdog_judge(&history, &use, &limits, worked_us, &wait), WATCHDOG_EVENT_NONE);
        return wait;
}

static void test_less_room_means_sooner(void **state)
{
        (void)state;
        assert_int_equal(wait_after(0, 0), 500);
        assert_int_equal(wait_after(200 * MIB, 0), 400);
        assert_int_equal(wait_after(900 * MIB, 0), 50);
        assert_int_equal(wait_after(980 * MIB, 0), 10);
        assert_int_equal(wait_after(999 * MIB, 0), 10);
        assert_int_equal(wait_after(1000 * MIB, 0), 10); /* the limit itself may be held */
}

/* A storm of processes must not make the watchdog the largest user of the processor. */
static void test_a_long_look_is_followed_by_a_long_rest(void **state)
{
        (void)state;
        assert_int_equal(wait_after(999 * MIB, 8000), 80);
        assert_int_equal(wait_after(900 * MIB, 8000), 80);
        assert_int_equal(wait_after(200 * MIB, 8000), 400);
        assert_int_equal(wait_after(999 * MIB, 1000000), 500);
}

static void test_three_looks_in_a_row_are_over(void **state)
{
        struct memory_use over = {.bytes = 1000 * MIB + 1, .tasks = 99, .disk_full = true};
        int wait;
        (void)state;
        for (int round = 0; round < 2; round++) {
                for (int i = 0; i < 2; i++) {
                        assert_int_equal(watchdog_judge(&history, &over, &limits, 0, &wait),
                                         WATCHDOG_EVENT_NONE);
                        assert_int_equal(wait, 5);
                }
                if (round == 0)
                        (void)wait_after(1000 * MIB, 0); /* not in a row */
        }
        assert_int_equal(watchdog_judge(&history, &over, &limits, 0, &wait), WATCHDOG_EVENT_MEMORY);
        assert_int_equal(wait, -1);
}

static void test_events_that_are_reported_once(void **state)
{
        struct memory_use use = {.tasks = 50};
        int wait;
        (void)state;
        assert_int_equal(watchdog_judge(&history, &use, &limits, 0, &wait), WATCHDOG_EVENT_NONE);
        use = (struct memory_use){.tasks = 51, .disk_full = true};
        assert_int_equal(watchdog_judge(&history, &use, &limits, 0, &wait), WATCHDOG_EVENT_PIDS);
        assert_int_equal(watchdog_judge(&history, &use, &limits, 0, &wait), WATCHDOG_EVENT_DISK);
        assert_int_equal(watchdog_judge(&history, &use, &limits, 0, &wait), WATCHDOG_EVENT_NONE);
        assert_int_equal(wait, 500);
}

/* ---- the process ---- */

static struct watchdog watchdog;

/* Sends what pid 1 of a sandbox sends: its /proc, a socket of its network, a memory file system. */
static void send_sources(int count)
{
        autoclose int proc = open(machine_directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        autoclose int sockets = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        autoclose int full = open("/proc", O_PATH | O_CLOEXEC); /* has no blocks, so it is always full */
        const int sources[] = {proc, sockets, full};
        union {
                struct cmsghdr head;
                char space[CMSG_SPACE(sizeof(sources))];
        } control = {0};
        char byte = 0;
        struct iovec data = {.iov_base = &byte, .iov_len = 1};
        struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
        if (count) {
                message.msg_control = &control;
                message.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count);
                control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count),
                                                .cmsg_level = SOL_SOCKET,
                                                .cmsg_type = SCM_RIGHTS};
                memcpy(CMSG_DATA(&control.head), sources, sizeof(int) * (size_t)count);
        }
        assert_int_equal(sendmsg(watchdog.sandbox_end, &message, MSG_NOSIGNAL), 1);
}

static void start(const struct limits *held, int sources)
{
        watchdog = WATCHDOG_NONE;
        assert_int_equal(watchdog_prepare(&watchdog), 0);
        send_sources(sources);
        assert_int_equal(watchdog_start(&watchdog, held), 0);
        assert_int_equal(watchdog.sandbox_end, -1);
        assert_int_equal(watchdog.sources_end, -1);
}

static void expect_report(enum watchdog_event event, uint64_t value)
{
        struct pollfd report = {.fd = watchdog.control, .events = POLLIN};
        uint64_t got = 0;
        assert_int_equal(poll(&report, 1, BOUND_MS), 1);
        assert_int_equal(watchdog_read(&watchdog, &got), event);
        assert_int_equal(got, value);
}

static void finish(void)
{
        pid_t process = watchdog.process;
        watchdog_end(&watchdog);
        assert_int_equal(watchdog.process, 0);
        assert_int_equal(watchdog.control, -1);
        assert_int_equal(kill(process, 0), -1);
        assert_int_equal(errno, ESRCH);
        watchdog_end(&watchdog); /* once more is nothing */
}

static void test_it_reports_what_it_measures(void **state)
{
        const struct limits held = {.memory_bytes = 1 << 20, .pids = 3};
        uint64_t value;
        (void)state;
        machine_make_file("/7/status", "x\nRssAnon: 100 kB\nThreads: 4\n");
        start(&held, 3);
        assert_int_equal(watchdog_read(&watchdog, &value), WATCHDOG_EVENT_NONE);
        expect_report(WATCHDOG_EVENT_PIDS, 4);
        expect_report(WATCHDOG_EVENT_DISK, 100 << 10);
        machine_make_file("/7/status", "x\nRssAnon: 2048 kB\nThreads: 4\n");
        machine_make_file("/7/smaps_rollup", "x\nPss_Anon: 2048 kB\n");
        expect_report(WATCHDOG_EVENT_MEMORY, 2 << 20);
        assert_int_equal(waitpid(watchdog.process, NULL, WNOHANG), 0); /* stays until it is ended */
        finish();
}

static void test_it_cannot_measure(void **state)
{
        (void)state;
        watchdog = WATCHDOG_NONE;
        assert_int_equal(watchdog_prepare(&watchdog), 0);
        send_sources(2);
        assert_int_equal(rmdir(machine_directory), 0); /* cannot be listed from here on */
        assert_int_equal(watchdog_start(&watchdog, &limits), 0);
        expect_report(WATCHDOG_EVENT_BLIND, 0);
        assert_int_equal(waitpid(watchdog.process, NULL, WNOHANG), 0);
        finish();
        assert_int_equal(mkdir(machine_directory, 0700), 0);
}

/* A sandbox that sends too little is not measured, and nothing is reported of it. */
static void test_it_gets_nothing_to_measure(void **state)
{
        (void)state;
        for (int count = 0; count < 2; count++) {
                int status;
                uint64_t value;
                watchdog = WATCHDOG_NONE;
                assert_int_equal(watchdog_prepare(&watchdog), 0);
                struct pollfd received = {.fd = fcntl(watchdog.sandbox_end, F_DUPFD_CLOEXEC, 0)};
                send_sources(count);
                assert_int_equal(watchdog_start(&watchdog, &limits), 0);
                assert_int_equal(poll(&received, 1, BOUND_MS), 1); /* it has closed its end */
                assert_int_equal(shutdown(watchdog.control, SHUT_RDWR), 0);
                assert_int_equal(waitpid(watchdog.process, &status, 0), watchdog.process);
                assert_true(WIFEXITED(
                    status)); /* the filter refuses a sanitizer its calls, which changes the status */
                watchdog.process = 0;
                assert_int_equal(watchdog_read(&watchdog, &value), WATCHDOG_EVENT_GONE);
                watchdog_end(&watchdog);
                close(received.fd);
        }
}

static void test_it_exits_with_its_supervisor(void **state)
{
        int status;
        uint64_t value;
        (void)state;
        machine_make_file("/7/status", "x\nRssAnon: 100 kB\nThreads: 4\n");
        start(&limits, 2);
        fd_close(&watchdog.control);
        assert_int_equal(waitpid(watchdog.process, &status, 0), watchdog.process);
        watchdog.process = 0;
        /* And its own end is reported. */
        start(&limits, 2);
        assert_true(watchdog.process > 0);
        assert_int_equal(kill(watchdog.process, SIGKILL), 0);
        expect_report(WATCHDOG_EVENT_GONE, 0);
        assert_int_equal(watchdog_read(&watchdog, &value), WATCHDOG_EVENT_GONE);
        finish();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup(test_less_room_means_sooner, begin_history),
            cmocka_unit_test_setup(test_a_long_look_is_followed_by_a_long_rest, begin_history),
            cmocka_unit_test_setup(test_three_looks_in_a_row_are_over, begin_history),
            cmocka_unit_test_setup(test_events_that_are_reported_once, begin_history),
            cmocka_unit_test_setup_teardown(test_it_reports_what_it_measures, machine_set_up,
                                            machine_tear_down),
            cmocka_unit_test_setup_teardown(test_it_cannot_measure, machine_set_up, machine_tear_down),
            cmocka_unit_test_setup_teardown(test_it_gets_nothing_to_measure, machine_set_up,
                                            machine_tear_down),
            cmocka_unit_test_setup_teardown(test_it_exits_with_its_supervisor, machine_set_up,
                                            machine_tear_down),
        };
        /* In a child that says when it is done: a watchdog in the place of the test would exit with 0. */
        int done[2], failed = 1;
        if (pipe(done) < 0)
                return 1;
        pid_t child = fork();
        if (child == 0) {
                close(done[0]);
                alarm(60); /* what blocks has failed */
                failed = cmocka_run_group_tests(tests, NULL, NULL);
                return write(done[1], &failed, sizeof(failed)) != sizeof(failed);
        }
        close(done[1]);
        if (read(done[0], &failed, sizeof(failed)) != sizeof(failed))
                failed = 1;
        (void)waitpid(child, NULL, 0);
        return failed;
}
