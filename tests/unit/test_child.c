/* SPDX-License-Identifier: Apache-2.0
 *
 * What a helper program is started with: this program starts itself.
 */
#include "lib/child.h"
#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "unit.h"

extern char **environ;

enum { AS_HELPER = 42 };

/* As the helper: reports through descriptor 1 what it has. */
static int be_helper(int argc)
{
        static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
        sigset_t blocked;
        unsigned descriptors = 0, ignored = 0, masked = 0;
        for (int fd = 0; fd < 1024; fd++)
                descriptors += fcntl(fd, F_GETFD) >= 0;
        for (size_t i = 0; i < COUNT(signals); i++) {
                struct sigaction action;
                ignored += sigaction(signals[i], NULL, &action) == 0 && action.sa_handler == SIG_IGN;
        }
        sigprocmask(SIG_BLOCK, NULL, &blocked);
        for (int i = 1; i < 32; i++)
                masked += (unsigned)sigismember(&blocked, i);
        dprintf(1, "%d %d %u %u %u\n", argc, environ[0] != NULL, descriptors, ignored, masked);
        char text[16] = "";
        (void)!read(0, text, sizeof(text) - 1);
        (void)!write(1, text, strlen(text));
        return AS_HELPER;
}

static void test_what_a_helper_has(void **state)
{
        int input[2], output[2], status;
        char line[64] = "";
        sigset_t mask;
        (void)state;
        assert_int_equal(pipe2(input, O_CLOEXEC), 0);
        assert_int_equal(pipe2(output, O_CLOEXEC), 0);
        autoclose int extra = open("/dev/null", O_RDONLY); /* not close-on-exec, and yet not the helper's */
        sigemptyset(&mask);
        sigaddset(&mask, SIGUSR1);
        sigprocmask(SIG_BLOCK, &mask, NULL);
        /* The given ones may stand in each other's places. */
        const int given[] = {input[0], output[1], extra};
        pid_t process = child_spawn("/proc/self/exe", given, 2);
        sigprocmask(SIG_UNBLOCK, &mask, NULL);
        assert_true(process > 0);
        assert_int_equal(write(input[1], "hello", 5), 5);
        close(input[1]);
        close(output[1]);
        assert_int_equal(waitpid(process, &status, 0), process);
        assert_int_equal(WEXITSTATUS(status), AS_HELPER);
        assert_true(read(output[0], line, sizeof(line) - 1) > 0);
        assert_string_equal(line, "1 0 2 5 0\nhello");
        assert_int_equal(fcntl(input[0], F_GETFD), FD_CLOEXEC); /* the caller's stay as they were */
        close(input[0]);
        close(output[0]);
}

static void test_a_program_that_is_missing(void **state)
{
        int status;
        (void)state;
        const int given[] = {0};
        pid_t process = child_spawn("/nowhere/helper", given, 1);
        assert_true(process > 0);
        assert_int_equal(waitpid(process, &status, 0), process);
        assert_int_equal(WEXITSTATUS(status), 127);
        const int missing[] = {-1};
        process = child_spawn("/proc/self/exe", missing, 1);
        assert_int_equal(waitpid(process, &status, 0), process);
        assert_int_equal(WEXITSTATUS(status), 125);
}

static void test_an_end_that_does_not_wait(void **state)
{
        int ends[2];
        (void)state;
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        const int given[] = {ends[0], ends[1]}; /* reads, and nobody writes */
        pid_t process = child_spawn("/proc/self/exe", given, 2), same = process;
        assert_true(process > 0);
        child_end(&process);
        assert_int_equal(process, 0);
        assert_int_equal(kill(same, 0), -1);
        assert_int_equal(errno, ESRCH);
        child_end(&process); /* there is none */
        assert_int_equal(process, 0);
        close(ends[0]);
        close(ends[1]);
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_what_a_helper_has),
            cmocka_unit_test(test_a_program_that_is_missing),
            cmocka_unit_test(test_an_end_that_does_not_wait),
        };
        if (strcmp(argv[0], "exe") == 0)
                return be_helper(argc);
        alarm(60); /* what blocks has failed */
        return cmocka_run_group_tests(tests, NULL, NULL);
}
