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

enum { TIMEOUT_SECONDS = 900, MEASURE_MS = 500, TAIL_LINES = 12 };

#define FILE_BYTES_MAX ((rlim_t)1 << 30)

char *fetch_sandbox_place(const struct fetch_plan *plan)
{
        autofree char *home = box_choose_home();
        return path_join(home, plan->request->tool == FETCH_NPM ? ".npm" : ".cache/uv");
}

/* The words of a hutch that fills `cache`. hutch's data directory is none that a sandbox gets, so only
 * --unsafe-grant permits this one entry of it. */
static void add_words(struct str_list *all, const char *cache, const struct fetch_plan *plan,
                      const struct str_list *words, const char *cwd)
{
        const struct options *user = plan->options;
        autofree char *place = fetch_sandbox_place(plan);
        str_list_add_each(all, "hutch", "run", "--fetch", "never", "--no-protect", "--unsafe-grant", cache,
                          "--cwd", cwd, "--rw", NULL);
        str_list_take(all, str_format("%s:%s", cache, place));
        str_list_add(all, "--timeout");
        str_list_take(all, str_format("%u", user->timeout_seconds ? user->timeout_seconds : TIMEOUT_SECONDS));
        for (unsigned i = 0; i < user->verbose; i++)
                str_list_add(all, "--verbose");
        for (size_t i = 0; i < plan->environment.count; i++) {
                const char *variable = plan->environment.values[i];
                if (str_is_variable_name(variable, strcspn(variable, "=")))
                        str_list_add_each(all, "--env", variable, NULL);
        }
        for (size_t i = 0; i < plan->files.count; i++) {
                str_list_add(all, "--file");
                str_list_take(all, str_format("%s:%s%s", plan->files.values[i], cwd,
                                              strrchr(plan->files.values[i], '/')));
        }
        if (plan->overlay)
                str_list_add_each(all, "--overlay", plan->overlay, NULL);
        for (size_t i = 0; i < plan->allow.count && !plan->offline; i++)
                str_list_add_each(all, "--network-allow", plan->allow.values[i], NULL);
        for (size_t i = 0; i < user->network_allow.count && !plan->offline; i++)
                str_list_add_each(all, "--network-allow", user->network_allow.values[i], NULL);
        if (plan->certificates) {
                str_list_add(all, "--env");
                str_list_take(
                    all, str_format("%s=%s",
                                    plan->request->tool == FETCH_NPM ? "npm_config_cafile" : "SSL_CERT_FILE",
                                    plan->certificates));
                str_list_add_each(all, "--ro", plan->certificates, NULL);
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

bool fetch_sandbox_run(const struct fetch_plan *plan, struct str_list *words, const char *cwd,
                       struct error *error)
{
        autofree char *link = str_format("/proc/self/fd/%d", plan->cache);
        autofree char *real = realpath(link, NULL);
        autofree char *program = program_find("hutch"), *home = box_choose_home();
        if (!program || !real || !limit_file_size()) {
                str_list_free(words);
                return program ? error_set(error, EXIT_SETUP, "cannot prepare the fetch: %s", strerror(errno))
                               : error_set(error, EXIT_SETUP,
                                           "hutch is not where its helpers are: reinstall hutch");
        }
        struct str_list all = {0};
        struct inner inner = {.note = take_note,
                              .child = {.program = program, .directory = "/", .session = true},
                              .keeps = 1,
                              .keeps_last = true,
                              .repeats = plan->options->verbose > 0};
        add_words(&all, real, plan, words, cwd ? cwd : home);
        bool fits = !inner_start(&inner, &all, error) || watch(&inner, plan->cache);
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
        str_list_free(words);
        return done || error_set(error, EXIT_SETUP, "%s could not fetch%s (status %d)", shown,
                                 inner.status == EXIT_TIMED_OUT ? " in time" : "", inner.status);
}
