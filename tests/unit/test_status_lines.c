/* SPDX-License-Identifier: Apache-2.0
 *
 * The lines of --status-fd: what they say, that they are whole whatever the reader does, and what another
 * hutch reads in them. This program is the hutch that is started, too.
 */
#include "run/status_lines.h"

#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/program.h"
#include "run/inner.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "unit.h"

static struct error error;
static char noted[1024];

static void note(enum message_kind kind, const char *option, const char *text)
{
        size_t length = strlen(noted);
        (void)snprintf(noted + length, sizeof(noted) - length, "%s %s %s\n", message_kind_name(kind),
                       option ? option : "-", text);
}

/* Is the started hutch: argv[1] says what becomes of its sandbox. */
static int play_hutch(const char *order)
{
        struct box box = {.memory_fs_bytes = 7};
        struct limits limits = {.memory_bytes = 5,
                                .memory = LIMIT_CGROUP,
                                .pids = 6,
                                .processes = LIMIT_PID_MAX,
                                .processors = LIMIT_UNASKED};
        struct failure failure = {.stage = STAGE_COUNT};
        for (unsigned i = 0; str_equal(order, "nothing") && i < INNER_KEPT; i++)
                dprintf(1, "%c", i ? '.' : '{');
        dprintf(2, "{\"event\":\"started\"}\n");
        if (str_equal(order, "nothing"))
                return 9;
        status_lines_begin(INNER_STATUS);
        message("a \"note\" with \\ and \n");
        message_as(MESSAGE_REFUSED, "network-allow", "example.com");
        if (str_equal(order, "fail")) {
                failure = (struct failure){.stage = STAGE_OVERLAY, .error = 28, .path = "/a/b"};
                message_as(MESSAGE_ERROR, "overlay", "cannot make it");
                status_lines_ended(ENDING_FAILED, EXIT_SETUP, 0, 0, &failure);
                return EXIT_SETUP;
        }
        status_lines_chosen(&box, &limits);
        status_lines_started(42);
        if (str_equal(order, "timeout")) {
                status_lines_ended(ENDING_TIMED_OUT, EXIT_TIMED_OUT, 0, 3, &failure);
                return EXIT_TIMED_OUT;
        }
        if (str_equal(order, "signal")) {
                status_lines_ended(ENDING_SIGNALLED, 128 + SIGSEGV, SIGSEGV, 0, &failure);
                return 128 + SIGSEGV;
        }
        status_lines_ended(ENDING_EXITED, 0, 0, 0, &failure);
        return 0;
}

static bool start(struct inner *inner, const char *order)
{
        autofree char *program = program_self();
        struct str_list words = {0};
        str_list_add(&words, "hutch");
        str_list_add(&words, order);
        str_list_add(&words, "--");
        noted[0] = 0;
        *inner = (struct inner){.note = note, .child.program = program, .keeps = 2};
        assert_true(inner_start(inner, &words, &error));
        while (inner_wait(inner, NULL, 0, -1))
                ;
        str_list_free(&words);
        return inner_end(inner);
}

static void test_a_run(void **state)
{
        struct inner inner;
        (void)state;
        assert_true(start(&inner, "exit"));
        assert_true(inner.started && inner.ended && !inner.timed_out);
        assert_int_equal(inner.status, 0);
        assert_int_equal(inner.error.status, 0);
        assert_int_equal(inner.failure.stage, STAGE_COUNT);
        assert_int_equal(inner.limits.memory, LIMIT_CGROUP);
        assert_int_equal(inner.limits.processes, LIMIT_PID_MAX);
        assert_int_equal(inner.limits.processors, LIMIT_UNASKED);
        assert_string_equal(noted,
                            "note - a \"note\" with \\ and \\x0a\nrefused network-allow example.com\n");
}

static void test_ends(void **state)
{
        struct inner inner;
        (void)state;
        assert_false(start(&inner, "timeout"));
        assert_true(inner.started && inner.timed_out);
        assert_int_equal(inner.status, EXIT_TIMED_OUT);
        assert_false(start(&inner, "signal"));
        assert_int_equal(inner.signal_number, SIGSEGV);
        assert_false(inner.timed_out);
        assert_false(start(&inner, "fail"));
        assert_false(inner.started);
        assert_int_equal(inner.failure.stage, STAGE_OVERLAY);
        assert_int_equal(inner.failure.error, 28);
        assert_string_equal(inner.failure.path, "/a/b");
        assert_string_equal(inner.error.text, "cannot make it");
        assert_false(start(&inner, "nothing"));
        assert_false(inner.ended);
        assert_string_equal(inner.error.text, "hutch ended early, with status 9");
        /* What the program writes is kept, and never taken for a line of hutch. */
        assert_false(inner.started);
        assert_int_equal(inner.output[0].length, INNER_KEPT);
        assert_string_equal(inner.output[1].data, "{\"event\":\"started\"}\n");
}

/* In a child, because the descriptor is the process's. A full pipe: whole lines, and how many are missing. */
static void test_a_reader_that_does_not_read(void **state)
{
        enum { MANY = 2000 };
        int ends[2], status;
        char data[1 << 17];
        (void)state;
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        pid_t child = fork();
        if (child == 0) {
                struct failure failure = {.stage = STAGE_COUNT};
                status_lines_begin(ends[1]);
                for (int i = 0; i < MANY; i++)
                        message("line %d", i);
                ssize_t got = read(ends[0], data, sizeof(data) / 4);
                for (int i = 0; i < 2; i++)
                        message("later");
                status_lines_ended(ENDING_EXITED, 0, 0, 0, &failure);
                got = got > 0 ? read(ends[0], data + got, sizeof(data) - (size_t)got) + got : 0;
                unsigned lines = 0;
                for (char *rest = data, *line; rest < data + got; lines++, rest = line + 1)
                        if (*rest != '{' || !(line = memchr(rest, '\n', (size_t)(data + got - rest))) ||
                            line[-1] != '}')
                                _exit(1);
                data[got] = 0;
                const char *dropped = strstr(data, "\"dropped\":");
                unsigned missing = dropped ? (unsigned)strtoul(dropped + 10, NULL, 10) : 0;
                _exit(missing > 0 && lines + missing == MANY + 3 && strstr(data, "\"ended\"") ? 0 : 2);
        }
        close(ends[0]);
        close(ends[1]);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_a_reader_that_has_gone(void **state)
{
        int ends[2], status;
        (void)state;
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        pid_t child = fork();
        if (child == 0) {
                int descriptors[2];
                close(ends[0]);
                status_lines_begin(ends[1]);
                message("nobody hears this");
                status_lines_descriptors(descriptors);
                _exit(descriptors[0] == -1 && descriptors[1] == -1 ? 0 : 1);
        }
        close(ends[0]);
        close(ends[1]);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_a_run),
            cmocka_unit_test(test_ends),
            cmocka_unit_test(test_a_reader_that_does_not_read),
            cmocka_unit_test(test_a_reader_that_has_gone),
        };
        if (argc == 4 && str_equal(argv[0], "hutch") && str_equal(argv[2], "--status-fd=3"))
                return play_hutch(argv[1]);
        alarm(60); /* what blocks has failed */
        return cmocka_run_group_tests(tests, NULL, NULL);
}
