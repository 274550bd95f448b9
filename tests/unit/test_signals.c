/* SPDX-License-Identifier: Apache-2.0
 *
 * Which signals reach the supervisor, and which of them tell it to stop.
 */
#include "run/signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "unit.h"

static void test_what_stops_a_run(void **state)
{
        static const struct {
                int number;
                bool stops_mcp, stops_run;
        } cases[] = {
            {SIGTERM, true, true},   {SIGHUP, true, true},    {SIGINT, true, false},
            {SIGQUIT, true, false},  {SIGUSR1, false, false}, {SIGUSR2, false, false},
            {SIGALRM, false, false}, {SIGTSTP, false, false},
        };
        (void)state;
        for (size_t i = 0; i < COUNT(cases); i++) {
                assert_int_equal(signals_stop_run(BOX_MCP, cases[i].number), cases[i].stops_mcp);
                assert_int_equal(signals_stop_run(BOX_RUN, cases[i].number), cases[i].stops_run);
        }
}

static bool is_blocked(int number)
{
        sigset_t mask;
        assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &mask), 0);
        return sigismember(&mask, number);
}

static void expect_signal(const struct signals *signals, int number)
{
        struct signalfd_siginfo info;
        assert_int_equal(raise(number), 0);
        assert_int_equal(read(signals->descriptor, &info, sizeof(info)), sizeof(info));
        assert_int_equal(info.ssi_signo, number);
}

static void test_signals_are_received(void **state)
{
        static const int forwarded[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                        SIGUSR2, SIGALRM, SIGTSTP, SIGCONT};
        struct signals signals = {.descriptor = -1};
        struct error error = {0};
        struct signalfd_siginfo info;
        struct sigaction action;
        (void)state;
        signal(SIGCHLD, SIG_IGN);
        signal(SIGUSR2, SIG_IGN); /* as the caller of hutch may have it */
        assert_true(signals_open(&signals, &error));
        assert_false(signals.ignores_hang_up);
        for (size_t i = 0; i < COUNT(forwarded); i++)
                if (forwarded[i] != SIGUSR2)
                        expect_signal(&signals, forwarded[i]);
        assert_int_equal(raise(SIGUSR2), 0);
        assert_int_equal(read(signals.descriptor, &info, sizeof(info)), -1); /* and does not block */
        assert_true(is_blocked(SIGTTOU));
        assert_false(is_blocked(SIGUSR2));
        assert_false(is_blocked(SIGSEGV));
        assert_int_equal(sigaction(SIGPIPE, NULL, &action), 0);
        assert_true(action.sa_handler == SIG_IGN);
        assert_int_equal(sigaction(SIGCHLD, NULL, &action), 0);
        assert_true(action.sa_handler == SIG_DFL);
        close(signals.descriptor);
}

static void test_nohup(void **state)
{
        struct signals signals = {.descriptor = -1};
        struct error error = {0};
        (void)state;
        signal(SIGHUP, SIG_IGN);
        assert_true(signals_open(&signals, &error));
        assert_true(signals.ignores_hang_up);
        close(signals.descriptor);
}

int main(void)
{
        static const int reset[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                    SIGUSR2, SIGALRM, SIGTSTP, SIGCONT};
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_what_stops_a_run), cmocka_unit_test(test_signals_are_received),
            cmocka_unit_test(test_nohup), /* last: it changes SIGHUP */
        };
        for (size_t i = 0; i < COUNT(reset); i++)
                signal(reset[i], SIG_DFL);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
