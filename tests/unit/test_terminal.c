/* SPDX-License-Identifier: Apache-2.0
 *
 * The terminal of a session that the test makes: when it is passed on, and when it is taken back.
 */
#include "run/terminal.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

/* In the session's leader, where cmocka cannot report: its exit status is the line that failed. */
#define CHECK(condition)                                                                                     \
        do                                                                                                   \
                if (!(condition))                                                                            \
                        _exit(__LINE__ % 251 + 1);                                                           \
        while (0)

/* Runs `body` as the leader of a session with a terminal at 0, 1, 2. */
static void in_a_session(void (*body)(void))
{
        int master, status;
        pid_t leader = forkpty(&master, NULL, NULL, NULL);
        assert_true(leader >= 0);
        if (leader == 0) {
                signal(SIGTTOU, SIG_IGN);
                alarm(30);
                body();
                _exit(0);
        }
        assert_int_equal(waitpid(leader, &status, 0), leader);
        close(master);
        assert_int_equal(status, 0);
}

static pid_t start_job(void)
{
        pid_t job = fork();
        if (job == 0) {
                setpgid(0, 0);
                for (;;)
                        pause();
        }
        setpgid(job, job);
        return job;
}

static void lend_and_take_back(void)
{
        struct terminal terminal = terminal_find();
        pid_t job = start_job();
        CHECK(terminal.descriptor == 1);
        CHECK(terminal.passed[0] && terminal.passed[1] && terminal.passed[2]);
        CHECK(!terminal.lent);
        CHECK(terminal_lend(&terminal) && terminal.lent);
        CHECK(tcsetpgrp(1, job) == 0);
        CHECK(!terminal_lend(&terminal)); /* from the background */
        CHECK(terminal.lent);             /* and yet it was lent before */
        terminal_take_back(&terminal);
        CHECK(tcgetpgrp(1) == getpgrp());
        CHECK(!terminal.lent);
        /* What was not lent belongs to somebody else. */
        CHECK(tcsetpgrp(1, job) == 0);
        terminal_take_back(&terminal);
        CHECK(tcgetpgrp(1) == job);
        kill(job, SIGKILL);
        waitpid(job, NULL, 0);
}

static void test_lending(void **state)
{
        (void)state;
        in_a_session(lend_and_take_back);
}

static void change_modes(void)
{
        struct termios modes;
        struct terminal terminal = terminal_find();
        CHECK(terminal.has_modes);
        CHECK(tcgetattr(1, &modes) == 0 && (modes.c_lflag & ECHO));
        modes.c_lflag &= ~(tcflag_t)ECHO;
        CHECK(tcsetattr(1, TCSANOW, &modes) == 0);
        struct terminal without = terminal;
        without.has_modes = false;
        terminal_restore(&without);
        CHECK(tcgetattr(1, &modes) == 0 && !(modes.c_lflag & ECHO));
        terminal_restore(&terminal);
        CHECK(tcgetattr(1, &modes) == 0 && (modes.c_lflag & ECHO));
}

static void test_modes(void **state)
{
        (void)state;
        in_a_session(change_modes);
}

static void replace(int fd, const char *path)
{
        int opened = open(path, O_RDWR);
        CHECK(opened >= 0 && dup2(opened, fd) == fd);
        close(opened);
}

static void redirect_some(void)
{
        replace(0, "/dev/null");
        struct terminal terminal = terminal_find();
        CHECK(terminal.descriptor == 1);
        CHECK(!terminal.passed[0] && terminal.passed[1] && terminal.passed[2]);
        close(2);
        terminal = terminal_find();
        CHECK(!terminal.passed[2]);
}

static void redirect_output(void)
{
        replace(1, "/dev/null");
        struct terminal terminal = terminal_find();
        CHECK(terminal.descriptor == -1);
        CHECK(!terminal.passed[0] && !terminal.passed[1] && !terminal.passed[2]);
        CHECK(!terminal_lend(&terminal) && !terminal.lent);
}

static void use_another_terminal(void)
{
        int master, slave;
        CHECK(openpty(&master, &slave, NULL, NULL, NULL) == 0);
        CHECK(dup2(slave, 2) == 2);
        struct terminal terminal = terminal_find();
        CHECK(terminal.descriptor == 1 && terminal.passed[0] && !terminal.passed[2]);
        CHECK(dup2(slave, 1) == 1); /* a terminal, but not this session's */
        terminal = terminal_find();
        CHECK(terminal.descriptor == -1);
}

static void test_redirections(void **state)
{
        (void)state;
        in_a_session(redirect_some);
        in_a_session(redirect_output);
        in_a_session(use_another_terminal);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_lending),
            cmocka_unit_test(test_modes),
            cmocka_unit_test(test_redirections),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
