/* SPDX-License-Identifier: Apache-2.0
 *
 * See fetch_first.h.
 */
#include "run/fetch_first.h"

#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/program.h"
#include "packages/project.h"
#include "run/inner.h"

#include <fcntl.h>
#include <signal.h>

/* A line of the fetch becomes one of this run, and as a note also of its record. */
static void pass_note(enum message_kind kind, const char *option, const char *text)
{
        message_as(kind, option, "%s", text);
}

/* A registry may take a quarter of an hour. A client that has gone meanwhile is known by its end of standard
 * output: that of standard input may be closed by one that still waits for answers. */
static void await_fetch(struct inner *fetch)
{
        struct pollfd client = {.fd = STDOUT_FILENO};
        while (inner_wait(fetch, &client, 1, -1)) {
                if (client.revents & (POLLERR | POLLHUP))
                        (void)kill(fetch->process, SIGTERM);
                if (client.revents) /* whatever it says, it says it again */
                        client.fd = -1;
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
        struct str_list words = {0};
        autofree char *program = program_find("hutch-fetch");
        autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        /* With --verbose, the tool's own lines go to standard error. */
        const int given[] = {null, null, STDERR_FILENO, [INNER_STATUS] = -1};
        struct inner fetch = {.note = pass_note,
                              .child = {.program = program, .given = given, .given_count = INNER_STATUS + 1}};
        if (!program)
                return error_set(error, EXIT_SETUP,
                                 "hutch-fetch, which downloads packages, is not installed: reinstall hutch");
        str_list_add(&words, "fetch");
        for (unsigned i = 0; i < options->verbose; i++)
                str_list_add(&words, "--verbose");
        str_list_add(&words, "--");
        str_list_add_all(&words, &options->command);
        autofree char *shown = describe_request(&options->command);
        message("fetching first, once: %s is not here yet", shown);

        if (inner_start(&fetch, &words, error))
                await_fetch(&fetch);
        str_list_free(&words);
        if (inner_end(&fetch))
                return true;
        if (fetch.error.status)
                message("%s", fetch.error.text);
        autofree char *line = fetch_line(&options->command);
        return error_set(error, EXIT_SETUP,
                         "it could not be fetched; the lines above say why, and so does: %s",
                         error_shown(line));
}
