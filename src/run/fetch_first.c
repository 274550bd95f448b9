/* SPDX-License-Identifier: Apache-2.0
 *
 * See fetch_first.h.
 */
#include "run/fetch_first.h"

#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/program.h"
#include "packages/project.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Passes the line of the fetch on, and into the record of this run, but for what a tool may have written. */
static void pass_line(const char *line, size_t length, bool verbose)
{
        static const char prefix[] = "[hutch] ";
        size_t skipped = sizeof(prefix) - 1;
        if (!verbose && length > skipped && memcmp(line, prefix, skipped) == 0) {
                message("%.*s", (int)(length - skipped), line + skipped);
                return;
        }
        (void)fd_write_all(STDERR_FILENO, line, length);
        (void)fd_write_all(STDERR_FILENO, "\n", 1);
}

struct passing {
        char line[4096];
        size_t length;
        bool verbose;
};

/* Passes what has come on, line by line. False at its end. */
static bool pass_lines(struct passing *passing, int lines)
{
        ssize_t got = read(lines, passing->line + passing->length, sizeof(passing->line) - passing->length);
        if (got <= 0) {
                if (got == 0 && passing->length > 0)
                        pass_line(passing->line, passing->length, passing->verbose);
                return got < 0 && errno == EINTR;
        }
        passing->length += (size_t)got;
        char *start = passing->line, *end = start + passing->length, *newline;
        while ((newline = memchr(start, '\n', (size_t)(end - start)))) {
                pass_line(start, (size_t)(newline - start), passing->verbose);
                start = newline + 1;
        }
        if (start == passing->line && passing->length == sizeof(passing->line)) {
                pass_line(start, passing->length, passing->verbose);
                start = end;
        }
        passing->length = (size_t)(end - start);
        memmove(passing->line, start, passing->length);
        return true;
}

/* A registry may take a quarter of an hour. A client that has gone meanwhile is known by its end of standard
 * output: that of standard input may be closed by one that still waits for answers. */
static void await_fetch(pid_t child, int lines, bool verbose)
{
        struct passing passing = {.verbose = verbose};
        struct pollfd polls[] = {{.fd = lines, .events = POLLIN}, {.fd = STDOUT_FILENO}};
        for (;;) {
                if (poll(polls, 2, -1) < 0) {
                        if (errno != EINTR)
                                return;
                        continue;
                }
                if (polls[1].revents & (POLLERR | POLLHUP))
                        (void)kill(child, SIGTERM);
                if (polls[1].revents) /* whatever it says, it says it again */
                        polls[1].fd = -1;
                if (polls[0].revents && !pass_lines(&passing, lines))
                        return;
        }
}

/* What the command asks for, as part of a sentence. The caller frees. */
static char *describe_request(const struct str_list *command)
{
        struct fetch_request request;
        package_request_read(command, &request);
        autofree char *name = request.tool == FETCH_NONE ? NULL : fetch_request_name(&request);
        bool project = request.tool == FETCH_UV_PROJECT;
        fetch_request_free(&request);
        return !name ? str_format("what %s asks for", error_shown(command->values[0]))
                     : str_format("%s%s", project ? "the environment of " : "",
                                  error_shown(strchr(name, ':') + 1));
}

bool fetch_first(const struct options *options, struct error *error)
{
        int ends[2];
        struct str_list words = {0};
        autofree char *program = program_find("hutch-fetch");
        if (!program)
                return error_set(error, EXIT_SETUP,
                                 "hutch-fetch, which downloads packages, is not installed: reinstall hutch");
        if (pipe2(ends, O_CLOEXEC) < 0)
                return error_set(error, EXIT_SETUP, "cannot make a pipe: %s", strerror(errno));
        str_list_add(&words, "fetch");
        for (unsigned i = 0; i < options->verbose; i++)
                str_list_add(&words, "--verbose");
        str_list_add(&words, "--");
        str_list_add_all(&words, &options->command);
        autofree char *shown = describe_request(&options->command);
        message("fetching first, once: %s is not here yet", shown);

        pid_t hutch = getpid(), child = fork();
        if (child == 0) {
                autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (getppid() != hutch || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
                    dup2(ends[1], 2) < 0)
                        _exit(EXIT_SETUP);
                execv(program, words.values);
                message("cannot start %s: %s; reinstall hutch", program, strerror(errno));
                _exit(EXIT_SETUP);
        }
        close(ends[1]);
        autoclose int lines = ends[0];
        str_list_free(&words);
        int status = 0;
        if (child > 0)
                await_fetch(child, lines, options->verbose > 0);
        while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
                ;
        if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
                return true;
        autofree char *line = fetch_line(&options->command);
        return error_set(error, EXIT_SETUP,
                         "it could not be fetched; the lines above say why, and so does: %s",
                         error_shown(line));
}
