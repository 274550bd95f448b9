/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program is started with: this one starts itself.
 */
#include "lib/child.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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
        struct error error = {0};
        (void)state;
        assert_int_equal(pipe2(input, O_CLOEXEC), 0);
        assert_int_equal(pipe2(output, O_CLOEXEC), 0);
        autoclose int extra = open("/dev/null", O_RDONLY); /* not close-on-exec, and yet not the helper's */
        sigemptyset(&mask);
        sigaddset(&mask, SIGUSR1);
        sigprocmask(SIG_BLOCK, &mask, NULL);
        /* The given ones may stand in each other's places. */
        const int given[] = {input[0], output[1], extra};
        pid_t process = child_start_helper("test_child", "the helper", given, 2, &error);
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

static void test_a_helper_that_is_missing(void **state)
{
        struct error error = {0};
        int status;
        (void)state;
        const int given[] = {0}, missing[] = {-1};
        assert_int_equal(child_start_helper("hutch-nothing", "the helper", given, 1, &error), -1);
        assert_int_equal(error.status, EXIT_SETUP);
        assert_non_null(strstr(error.text, "cannot start the helper: hutch-nothing is not installed"));
        pid_t process = child_start_helper("test_child", "the helper", missing, 1, &error);
        assert_true(process > 0);
        status = child_wait(&process);
        assert_int_equal(WEXITSTATUS(status), EXIT_SETUP);
}

static void test_an_end_that_does_not_wait(void **state)
{
        struct error error = {0};
        int ends[2];
        (void)state;
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        const int given[] = {ends[0], ends[1]}; /* reads, and nobody writes */
        pid_t process = child_start_helper("test_child", "the helper", given, 2, &error), same = process;
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

static int start_self(const char *order, const char *directory, bool session, const int *given, size_t count)
{
        autofree char *word = str_copy(order), *name = str_copy("program"), *variable = str_copy("A=b");
        char *const words[] = {name, word, NULL}, *const variables[] = {variable, NULL};
        const struct child child = {.program = "/proc/self/exe",
                                    .words = words,
                                    .environment = variables,
                                    .given = given,
                                    .given_count = count,
                                    .directory = directory,
                                    .session = session};
        pid_t process = child_start(&child);
        assert_true(process > 0);
        return child_wait(&process);
}

static void test_what_a_program_has(void **state)
{
        int output[2];
        char text[256] = "";
        (void)state;
        assert_int_equal(pipe2(output, O_CLOEXEC), 0);
        const int given[] = {output[0], output[1], output[1]};
        int status = start_self("report", "/usr", true, given, 3);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), AS_HELPER);
        assert_true(read(output[0], text, sizeof(text) - 1) > 0);
        autofree char *expected = str_format("2 A=b /usr session 3 %d\n", SIGKILL);
        assert_string_equal(text, expected);
        /* None of these is started without what it was to have. */
        assert_int_equal(WEXITSTATUS(start_self("report", "/nowhere", false, given, 3)), EXIT_SETUP);
        const int missing[] = {0, 1, -1};
        assert_int_equal(WEXITSTATUS(start_self("report", NULL, false, missing, 3)), EXIT_SETUP);
        close(output[0]);
        close(output[1]);
}

static void test_a_program_that_cannot_be_executed(void **state)
{
        (void)state;
        char *const words[] = {"helper", NULL};
        const int given[] = {0};
        const struct child child = {.program = "/nowhere/helper",
                                    .words = words,
                                    .environment = environ,
                                    .given = given,
                                    .given_count = 1};
        pid_t process = child_start(&child);
        int status = child_wait(&process);
        assert_int_equal(WEXITSTATUS(status), EXIT_NOT_FOUND);
        assert_int_equal(child_wait(&process), -1);
}

/* As the program: reports what it has. */
static int be_program(int argc)
{
        char directory[64] = "";
        unsigned descriptors = 0;
        int signal_number = 0;
        for (int fd = 0; fd < 1024; fd++)
                descriptors += fcntl(fd, F_GETFD) >= 0;
        (void)prctl(PR_GET_PDEATHSIG, &signal_number);
        assert_non_null(getcwd(directory, sizeof(directory)));
        dprintf(1, "%d %s %s %s %u %d\n", argc, environ[0], directory,
                getsid(0) == getpid() ? "session" : "none", descriptors, signal_number);
        return AS_HELPER;
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_what_a_helper_has),
            cmocka_unit_test(test_a_helper_that_is_missing),
            cmocka_unit_test(test_an_end_that_does_not_wait),
            cmocka_unit_test(test_what_a_program_has),
            cmocka_unit_test(test_a_program_that_cannot_be_executed),
        };
        if (strcmp(argv[0], "program") == 0)
                return be_program(argc);
        if (argc == 1 && !environ[0])
                return be_helper(argc);
        alarm(60); /* what blocks has failed */
        return cmocka_run_group_tests(tests, NULL, NULL);
}
