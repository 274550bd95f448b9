/* SPDX-License-Identifier: Apache-2.0
 *
 * Fetching before a start: what hutch-fetch is asked for, what becomes of its lines, and when it must end.
 * This program is the helper, too.
 */
#include "run/fetch_first.h"

#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/program.h"
#include "lib/str.h"
#include "run/inner.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stand_in.h"
#include "unit.h"

/* What the helper does: "words" tells its arguments, "exit" fails, "error" writes to its standard error and
 * fails with a sentence, "stay" tells a note and waits for a signal, "signals" interrupts its parent and
 * fails. */
#define ORDER "HUTCH_TEST_ORDER"

static struct options options;
static int client =
    -1; /* the client's end of standard output: closed when a line is heard that asks for it */
static struct error error;
static char heard[16384];

static void hear(void *context, const char *line, size_t length)
{
        (void)context;
        assert_true(strlen(heard) + length < sizeof(heard));
        strncat(heard, line, length);
        if (strstr(heard, "[hutch] go away\n"))
                fd_close(&client);
}

/* Interrupts the system call in which hutch sleeps. */
static void interrupt_parent(void)
{
        autofree char *path = str_format("/proc/%d/stat", (int)getppid());
        for (;;) {
                autofree char *text = NULL;
                if (fd_read_file(path, 4096, &text) <= 0)
                        _exit(4);
                const char *name_end = strrchr(text, ')');
                if (name_end && str_starts(name_end, ") S"))
                        break;
        }
        (void)kill(getppid(), SIGUSR1);
}

static void tell(const char *event, const char *kind, const char *text)
{
        autoline line = {0};
        log_line_begin(&line, event);
        log_line_text(&line, "kind", kind, LOG_TEXT_MAX);
        log_line_text(&line, "text", text, LOG_TEXT_MAX);
        (void)log_line_write(&line, INNER_STATUS);
}

/* Is hutch-fetch: argv[0] is "fetch". */
static void play_helper(char **argv)
{
        const char *order = getenv(ORDER);
        if (str_equal(order, "exit"))
                _exit(3);
        if (str_equal(order, "stay")) {
                tell("note", "note", "go away");
                for (;;)
                        pause();
        }
        if (str_equal(order, "signals")) {
                interrupt_parent();
                interrupt_parent();
                tell("note", "note", "after a signal");
                close(INNER_STATUS); /* now hutch waits for the end of this process */
                interrupt_parent();
                _exit(3);
        }
        if (str_equal(order, "error")) {
                static const char line[] = "[hutch] npm warn\n";
                (void)fd_write_all(STDERR_FILENO, line, sizeof(line) - 1);
                tell("note", "error", "the registry is gone");
                tell("ended", "", "");
                _exit(EXIT_SETUP);
        }
        for (char **word = argv; str_equal(order, "words") && *word; word++)
                tell("note", "note", *word);
        tell("ended", "", "");
        _exit(0);
}

static bool fetch(const char *order, unsigned verbose, const char *const *command)
{
        setenv(ORDER, order, 1);
        options_free(&options);
        options = (struct options){.verbose = verbose};
        for (; *command; command++)
                str_list_add(&options.command, *command);
        heard[0] = 0;
        error = (struct error){0};
        return fetch_first(&options, &error);
}

#define COMMAND(...) ((const char *const[]){__VA_ARGS__, NULL})

static void assert_heard(const char *expected)
{
        autofree char *whole = str_format("[hutch] fetching first, once: %s", expected);
        assert_string_equal(heard, whole);
}

/* What the function writes to its own standard error, instead of the test's. */
static bool fetch_with_errors(const char *order, unsigned verbose, char *text, size_t size)
{
        int kept = dup(STDERR_FILENO), file = memfd_create("errors", MFD_CLOEXEC);
        assert_true(kept >= 0 && file >= 0);
        assert_true(dup2(file, STDERR_FILENO) >= 0);
        bool fetched = fetch(order, verbose, COMMAND("npx", "x"));
        assert_true(dup2(kept, STDERR_FILENO) >= 0);
        ssize_t length = pread(file, text, size - 1, 0);
        assert_true(length >= 0);
        text[length] = 0;
        close(kept);
        close(file);
        return fetched;
}

static void test_words_of_the_helper(void **state)
{
        (void)state;
        assert_true(fetch("words", 0, COMMAND("npx", "-y", "tool@1")));
        assert_heard(
            "tool@1 is not here yet\n[hutch] fetch\n[hutch] --status-fd=3\n[hutch] --\n[hutch] npx\n[hutch] "
            "-y\n[hutch] tool@1\n");
        assert_true(fetch("words", 2, COMMAND("npx", "x")));
        assert_heard(
            "x is not here yet\n[hutch] fetch\n[hutch] --verbose\n[hutch] --verbose\n[hutch] --status-fd=3\n"
            "[hutch] --\n[hutch] npx\n[hutch] x\n");
}

static void test_description(void **state)
{
        (void)state;
        assert_true(fetch("words", 0, COMMAND("uvx", "tool")));
        assert_non_null(strstr(heard, "once: tool is not here yet\n"));
        assert_true(fetch("words", 0, COMMAND("/opt/server", "x")));
        assert_non_null(strstr(heard, "once: what /opt/server asks for is not here yet\n"));
}

static void test_project(void **state)
{
        char directory[] = "/tmp/hutch-fetch-first-XXXXXX";
        (void)state;
        assert_non_null(mkdtemp(directory));
        autofree char *project = str_format("%s/pyproject.toml", directory);
        int file = open(project, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(file >= 0);
        close(file);
        bool fetched = fetch("words", 0, COMMAND("uv", "--directory", directory, "run", "server"));
        unlink(project);
        rmdir(directory);
        assert_true(fetched);
        autofree char *part = str_format("once: the environment of %s is not here yet\n", directory);
        assert_non_null(strstr(heard, part));
}

/* What a tool wrote is passed on as it is, and can never be taken for a line of hutch. */
static void test_lines(void **state)
{
        char text[1024];
        (void)state;
        assert_false(fetch_with_errors("error", 1, text, sizeof(text)));
        assert_heard("x is not here yet\n[hutch] the registry is gone\n");
        assert_string_equal(text, "[hutch] npm warn\n");
}

static void test_failure(void **state)
{
        (void)state;
        assert_false(fetch("exit", 0, COMMAND("npx", "a b")));
        assert_int_equal(error.status, EXIT_SETUP);
        assert_non_null(strstr(error.text, "could not be fetched"));
        assert_non_null(strstr(error.text, "hutch fetch -- npx 'a b'"));
}

/* Fetches in a new process, whose standard output has no reader, or one that goes when a line comes. */
static void end_with_client(bool gone_at_once)
{
        int ends[2];
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        pid_t child = fork();
        if (child == 0) {
                client = ends[0];
                if (gone_at_once)
                        fd_close(&client);
                if (dup2(ends[1], STDOUT_FILENO) < 0)
                        _exit(1);
                _exit(fetch("stay", 0, COMMAND("npx", "x")) ? 1 : 2);
        }
        close(ends[0]);
        close(ends[1]);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 2);
}

/* The fetch of a client that has gone ends. A client that does not close its standard output is waited for.
 */
static void test_client_gone(void **state)
{
        (void)state;
        end_with_client(true);
        end_with_client(false);
}

static void test_client_that_waits(void **state)
{
        int ends[2];
        (void)state;
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        pid_t child = fork();
        if (child == 0) {
                if (dup2(ends[1], STDOUT_FILENO) < 0)
                        _exit(1);
                _exit(fetch("words", 0, COMMAND("npx", "x")) ? 0 : 2);
        }
        close(ends[1]);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        close(ends[0]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
}

static void ignore_signal(int number)
{
        (void)number;
}

static void test_signals_lose_nothing(void **state)
{
        (void)state;
        struct sigaction action = {.sa_handler = ignore_signal}, before;
        assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
        bool fetched = fetch("signals", 0, COMMAND("npx", "x"));
        assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
        assert_false(fetched);
        assert_heard("x is not here yet\n[hutch] after a signal\n[hutch] hutch ended early, with status 3\n");
}

/* A hutch without its helper. One that is installed on this machine would download. */
static void test_no_helper(void **state)
{
        (void)state;
        autofree char *self = str_or_die(realpath("/proc/self/exe", NULL));
        autofree char *directory = path_parent(self);
        autofree char *helper = str_format("%s/hutch-fetch", directory);
        assert_int_equal(unlink(helper), 0);
        autofree char *installed = program_find("hutch-fetch");
        bool fetched = !installed && fetch("words", 0, COMMAND("npx", "x"));
        assert_int_equal(link(self, helper), 0);
        if (installed)
                skip();
        assert_false(fetched);
        assert_int_equal(error.status, EXIT_SETUP);
        assert_non_null(strstr(error.text, "reinstall hutch"));
        assert_string_equal(heard, "");
}

static int tear_down(void **state)
{
        (void)state;
        options_free(&options);
        messages_send_to(NULL, NULL);
        return 0;
}

int main(int count, char **argv)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_words_of_the_helper),
            cmocka_unit_test(test_description),
            cmocka_unit_test(test_project),
            cmocka_unit_test(test_lines),
            cmocka_unit_test(test_failure),
            cmocka_unit_test(test_client_gone),
            cmocka_unit_test(test_client_that_waits),
            cmocka_unit_test(test_signals_lose_nothing),
            cmocka_unit_test(test_no_helper),
        };
        (void)count;
        if (str_equal(argv[0], "fetch"))
                play_helper(argv);
        stand_in_begin(argv, "hutch-fetch", NULL);
        messages_send_to(hear, NULL);
        return cmocka_run_group_tests_name("fetch_first", tests, NULL, tear_down);
}
