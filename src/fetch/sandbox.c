/* SPDX-License-Identifier: Apache-2.0
 *
 * See sandbox.h. Another hutch runs the sandbox, so that this process can measure the directory while it
 * fills, which no limit of the kernel bounds, and keep the end of the command's output.
 */
#include "fetch/sandbox.h"

#include "box/box.h"
#include "fetch/tree_digest.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/program.h"
#include "run/inner.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

enum {
        TIMEOUT_SECONDS = 900,
        MEASURE_MS = 500,
        TAIL_LINES = 12,
};

#define FILE_BYTES_MAX ((rlim_t)1 << 30)

char *fetch_sandbox_place(enum fetch_tool tool)
{
        autofree char *home = box_choose_home();
        return path_join(home, tool == FETCH_UV ? ".cache/uv" : ".npm");
}

static void add_option(struct str_list *words, const char *name, const char *value)
{
        str_list_add(words, name);
        str_list_add(words, value);
}

/* The words of a hutch that fills `cache`. hutch's data directory is none that a sandbox gets, so only
 * --unsafe-grant permits this one entry of it. */
static void add_words(struct str_list *all, const char *cache, enum fetch_tool tool,
                      const struct fetch_plan *plan, const struct str_list *words, const char *cwd,
                      const struct options *user)
{
        autofree char *place = fetch_sandbox_place(tool);
        add_option(all, "hutch", "run");
        add_option(all, "--fetch", "never");
        str_list_add(all, "--no-protect");
        add_option(all, "--unsafe-grant", cache);
        str_list_add(all, "--rw");
        str_list_take(all, str_format("%s:%s", cache, place));
        add_option(all, "--cwd", cwd);
        str_list_add(all, "--timeout");
        str_list_take(all, str_format("%u", user->timeout_seconds ? user->timeout_seconds : TIMEOUT_SECONDS));
        for (unsigned i = 0; i < user->verbose; i++)
                str_list_add(all, "--verbose");
        for (size_t i = 0; i < plan->environment.count; i++) {
                const char *variable = plan->environment.values[i];
                if (str_is_variable_name(variable, strcspn(variable, "=")))
                        add_option(all, "--env", variable);
        }
        for (size_t i = 0; i < plan->files.count; i++) {
                str_list_add(all, "--file");
                str_list_take(all, str_format("%s:%s%s", plan->files.values[i], cwd,
                                              strrchr(plan->files.values[i], '/')));
        }
        if (plan->overlay)
                add_option(all, "--overlay", plan->overlay);
        for (size_t i = 0; i < plan->allow.count && !plan->offline; i++)
                add_option(all, "--network-allow", plan->allow.values[i]);
        for (size_t i = 0; i < user->network_allow.count && !plan->offline; i++)
                add_option(all, "--network-allow", user->network_allow.values[i]);
        if (plan->certificates) {
                str_list_add(all, "--env");
                str_list_take(all,
                              str_format("%s=%s", tool == FETCH_UV ? "SSL_CERT_FILE" : "npm_config_cafile",
                                         plan->certificates));
                add_option(all, "--ro", plan->certificates);
        }
        str_list_add(all, "--");
        str_list_add_all(all, words);
}

/* Prints the last lines, made printable. */
static void show(const struct inner_output *tail)
{
        const char *start = tail->data + tail->length;
        for (int lines = 0; start > tail->data && lines <= TAIL_LINES; start--)
                lines += start[-1] == '\n';
        if (start > tail->data)
                start += 2;
        for (const char *line = start; *line;) {
                size_t length = strcspn(line, "\n");
                char text[512];
                if (length > 0)
                        message("  | %s", error_quote(text, sizeof(text), line, length));
                line += length + (line[length] == '\n');
        }
}

/* What hutch refused or limited, for the user when the fetch fails. */
static struct str_list reasons;

static void take_note(enum message_kind kind, const char *option, const char *text)
{
        if (kind == MESSAGE_REFUSED || kind == MESSAGE_LIMIT)
                str_list_add(&reasons, text);
        else
                message_as(MESSAGE_VERBOSE, option, "%s", text);
}

/* Waits until hutch, and with it everything that it started, has ended. False when the directory grew too
 * large. */
static bool watch(struct inner *inner, int cache)
{
        long long measured = clock_now_ms();
        while (inner_wait(inner, NULL, 0, MEASURE_MS)) {
                struct tree_size size;
                if (clock_now_ms() < measured + MEASURE_MS)
                        continue;
                if (!tree_measure(cache, &size))
                        return false;
                measured = clock_now_ms();
        }
        return true;
}

/* The sandbox inherits the limit. hutch-fetch itself writes no large file. */
static bool limit_file_size(void)
{
        struct rlimit limit = {FILE_BYTES_MAX, FILE_BYTES_MAX};
        return setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

bool fetch_sandbox_run(int cache, enum fetch_tool tool, const struct fetch_plan *plan,
                       const struct str_list *words, const char *cwd, const struct options *user,
                       struct error *error)
{
        autofree char *link = str_format("/proc/self/fd/%d", cache);
        autofree char *real = realpath(link, NULL);
        autofree char *program = program_find("hutch");
        if (!program)
                return error_set(error, EXIT_SETUP, "hutch is not where its helpers are: reinstall hutch");
        if (!real || !limit_file_size())
                return error_set(error, EXIT_SETUP, "cannot prepare the fetch: %s", strerror(errno));
        struct str_list all = {0};
        struct inner inner = {.note = take_note,
                              .child = {.program = program, .directory = "/", .session = true},
                              .keeps = 1,
                              .keeps_last = true,
                              .repeats = user->verbose > 0};
        add_words(&all, real, tool, plan, words, cwd, user);
        bool fits = !inner_start(&inner, &all, error) || watch(&inner, cache);
        str_list_free(&all);
        if (!fits)
                kill(inner.process, SIGTERM); /* the sandbox then has two seconds to end */
        bool done = inner_end(&inner) && fits;
        if (!fits)
                error_set(error, EXIT_SETUP,
                          "stopped: the packages, or their install scripts, write more than %llu GiB or %d "
                          "files, or deeper than %d directories",
                          (unsigned long long)(TREE_BYTES_MAX >> 30), TREE_OBJECTS_MAX, TREE_DEPTH_MAX);
        else if (inner.error.status)
                error_set(error, EXIT_SETUP, "%s", inner.error.text);
        if (!done && fits && !plan->quiet) {
                if (!inner.repeats)
                        show(&inner.output[0]);
                for (size_t i = 0; i < reasons.count; i++)
                        message("%s", reasons.values[i]);
        }
        str_list_free(&reasons);
        autofree char *shown = str_copy(error_shown(words->values[0]));
        return done || error_set(error, EXIT_SETUP, "%s could not fetch%s (status %d)", shown,
                                 inner.status == EXIT_TIMED_OUT ? " in time" : "", inner.status);
}
