/* SPDX-License-Identifier: Apache-2.0
 *
 * See sandbox.h. A child process supervises the sandbox, so that this process can measure the directory while
 * it fills, which no limit of the kernel bounds, and keep the end of the command's output.
 */
#include "fetch/sandbox.h"

#include "fetch/tree_digest.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/homes.h"
#include "lib/messages.h"
#include "resolve/resolve.h"
#include "run/run_log.h"
#include "run/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum {
        TIMEOUT_SECONDS = 900,
        MEASURE_MS = 500,
        TAIL_BYTES = 8192, /* of the command's output */
        TAIL_LINES = 12,
};

#define FILE_BYTES_MAX ((rlim_t)1 << 30)

char *fetch_sandbox_place(enum fetch_tool tool)
{
        return path_join(caller_homes()->spelled, tool == FETCH_UV ? ".cache/uv" : ".npm");
}

static void add_grant(struct options *options, const char *path, bool overlay)
{
        *array_add(options->grants, options->grant_count) = (struct grant_option){
            .path = str_copy(path), .overlay = overlay, .option = overlay ? "--overlay" : "--ro"};
}

static void add_file(struct options *options, const char *path, const char *directory)
{
        *array_add(options->files, options->file_count) = (struct file_option){
            .local = str_copy(path), .remote = path_join(directory, strrchr(path, '/') + 1)};
}

static void fill_options(struct options *options, const char *cache, enum fetch_tool tool,
                         const struct fetch_plan *plan, const struct str_list *words, const char *cwd,
                         const struct options *user)
{
        *options = (struct options){
            .stop_grace_seconds = LIMIT_NO_GRACE,
            .timeout_seconds = user->timeout_seconds ? user->timeout_seconds : TIMEOUT_SECONDS,
            .verbose = user->verbose,
            .no_protect = true,
            .cwd = str_copy(cwd),
            .fetch_into = cache,
            .fetch_tool = (int)tool,
        };
        for (size_t i = 0; i < words->count; i++)
                str_list_add(&options->command, words->values[i]);
        for (size_t i = 0; i < plan->environment.count; i++)
                str_list_add(&options->env, plan->environment.values[i]);
        for (size_t i = 0; i < plan->files.count; i++)
                add_file(options, plan->files.values[i], cwd);
        if (plan->overlay)
                add_grant(options, plan->overlay, true);
        for (size_t i = 0; i < plan->allow.count && !plan->offline; i++)
                str_list_add(&options->network_allow, plan->allow.values[i]);
        for (size_t i = 0; i < user->network_allow.count && !plan->offline; i++)
                str_list_add(&options->network_allow, user->network_allow.values[i]);
        if (plan->certificates) {
                str_list_take(&options->env,
                              str_format("%s=%s", tool == FETCH_UV ? "SSL_CERT_FILE" : "npm_config_cafile",
                                         plan->certificates));
                add_grant(options, plan->certificates, false);
        }
}

/* The process that supervises: its standard output and error are the pipe. */
static _Noreturn void be_supervisor(struct options *options, int output, pid_t hutch)
{
        struct error error = {0};
        struct box box = {0};
        struct held_sources held = {0};
        struct run_log nothing = {.store_file = -1,
                                  .file = -1}; /* not the run of a server: no record of it is kept */
        struct rlimit limit = {FILE_BYTES_MAX, FILE_BYTES_MAX};
        autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != hutch || null < 0 || dup2(null, 0) < 0 || dup2(output, 1) < 0 ||
            dup2(output, 2) < 0 || chdir("/") < 0 || setrlimit(RLIMIT_FSIZE, &limit) < 0 || setsid() < 0)
                _exit(EXIT_SETUP);
        int status = EXIT_SETUP;
        if (resolve_box(&box, &held, BOX_RUN, options, &error))
                status = supervise(&box, &held, &nothing, &error);
        if (error.status)
                message("%s", error.text);
        _exit(error.status ? error.status : status);
}

struct tail {
        char data[TAIL_BYTES + 1];
        size_t length;
        bool verbose;
};

static void keep(struct tail *tail, const char *data, size_t length)
{
        if (tail->verbose)
                (void)fd_write_all(STDERR_FILENO, data, length);
        if (length > TAIL_BYTES) {
                data += length - TAIL_BYTES;
                length = TAIL_BYTES;
        }
        size_t over = tail->length + length > TAIL_BYTES ? tail->length + length - TAIL_BYTES : 0;
        memmove(tail->data, tail->data + over, tail->length - over);
        tail->length -= over;
        memcpy(tail->data + tail->length, data, length);
        tail->length += length;
}

/* Prints the last lines, made printable. */
static void show(struct tail *tail)
{
        tail->data[tail->length] = 0;
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

/* Reads until the command and everything it started have closed the pipe. False when the directory grew too
 * large. */
static bool watch(int output, int cache, struct tail *tail)
{
        for (long long measured = clock_now_ms();;) {
                struct pollfd wait = {.fd = output, .events = POLLIN};
                struct tree_size size;
                int ready = poll(&wait, 1, MEASURE_MS);
                if (ready < 0 && errno != EINTR)
                        return true;
                if (ready > 0) {
                        char data[4096];
                        ssize_t length = read(output, data, sizeof(data));
                        if (length == 0 || (length < 0 && errno != EINTR))
                                return true;
                        keep(tail, data, length > 0 ? (size_t)length : 0);
                }
                if (clock_now_ms() < measured + MEASURE_MS)
                        continue;
                if (!tree_measure(cache, &size))
                        return false;
                measured = clock_now_ms();
        }
}

bool fetch_sandbox_run(int cache, enum fetch_tool tool, const struct fetch_plan *plan,
                       const struct str_list *words, const char *cwd, const struct options *user,
                       struct error *error)
{
        int ends[2], status = 0;
        autofree char *link = str_format("/proc/self/fd/%d", cache);
        autofree char *real = realpath(link, NULL);
        if (!real || pipe2(ends, O_CLOEXEC) < 0)
                return error_set(error, EXIT_SETUP, "cannot prepare the fetch: %s", strerror(errno));
        autoclose int output = ends[0];
        struct options options;
        struct tail tail = {.verbose = user->verbose > 0};
        fill_options(&options, real, tool, plan, words, cwd, user);
        pid_t hutch = getpid(), child = fork();
        if (child == 0)
                be_supervisor(&options, ends[1], hutch);
        close(ends[1]);
        options_free(&options);
        if (child < 0)
                return error_set(error, EXIT_SETUP, "cannot start a process: %s", strerror(errno));
        bool fits = watch(output, cache, &tail);
        if (!fits)
                kill(child, SIGTERM); /* the sandbox then has two seconds to end */
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
                ;
        if (!fits)
                return error_set(error, EXIT_SETUP,
                                 "stopped: the packages, or their install scripts, write more than %llu GiB "
                                 "or %d files, or "
                                 "deeper than %d directories",
                                 (unsigned long long)(TREE_BYTES_MAX >> 30), TREE_OBJECTS_MAX,
                                 TREE_DEPTH_MAX);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
                return true;
        if (!tail.verbose && !plan->quiet)
                show(&tail);
        autofree char *shown = str_copy(error_shown(words->values[0]));
        return error_set(error, EXIT_SETUP, "%s could not fetch%s (status %d)", shown,
                         WIFEXITED(status) && WEXITSTATUS(status) == EXIT_TIMED_OUT ? " in time" : "",
                         WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}
