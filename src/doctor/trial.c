/* SPDX-License-Identifier: Apache-2.0
 *
 * See trial.h.
 */
#include "doctor/trial.h"

#include "grants/watched_names.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/messages.h"
#include "ns/control.h"
#include "ns/launch.h"
#include "resolve/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum { PATIENCE_MS = 10000 };

/* A directory that every machine has; the trial only looks at it. */
#define OVERLAY_DIRECTORY "/usr/bin"
#define OVERLAY_PLACE     "/trial"

/* Notes are for the user who starts a server; doctor's rows have the same facts. */
static void discard(void *context, const char *line, size_t length)
{
        (void)context, (void)line, (void)length;
}

/* The output of the command on one descriptor; only the first line is kept. */
struct captured {
        int pipe; /* -1: the command has closed it */
        size_t length;
        char line[sizeof((struct trial){0}.line)];
};

/* The supervisor's side of a running trial. */
struct running {
        struct launch launch;
        struct captured output, errors;
        bool executed;
        bool ended;
        int wait_status; /* -1: nobody reported it */
};

static void read_failure(struct running *running, struct trial *trial)
{
        struct failure failure;
        ssize_t length = read(running->launch.failure, &failure, sizeof(failure));
        fd_close(&running->launch.failure);
        running->executed = length == 0;
        if (length != sizeof(failure))
                return;
        trial->failure = failure;
        failure_explain(&failure, &trial->error);
        running->ended = true;
}

/* Reads what is there, so that the command does not block. */
static void read_captured(struct captured *captured)
{
        char data[4096];
        ssize_t length = read(captured->pipe, data, sizeof(data));
        if (length < 0 && errno == EAGAIN)
                return;
        if (length <= 0) {
                fd_close(&captured->pipe);
                return;
        }
        size_t room = sizeof(captured->line) - 1 - captured->length;
        size_t kept = (size_t)length < room ? (size_t)length : room;
        memcpy(captured->line + captured->length, data, kept);
        captured->length += kept;
}

static void drain_captured(struct captured *captured)
{
        struct pollfd polled = {.fd = captured->pipe, .events = POLLIN};
        while (captured->pipe >= 0 && poll(&polled, 1, 0) > 0)
                read_captured(captured);
        captured->line[strcspn(captured->line, "\r\n")] = 0;
}

static void read_control(struct running *running)
{
        struct control_message report;
        ssize_t length = recv(running->launch.control, &report, sizeof(report), MSG_DONTWAIT);
        if (length < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        running->ended = true;
        running->wait_status = length == sizeof(report) && report.type == CONTROL_EXITED ? report.value : -1;
}

static void watch_until_end(struct running *running, struct trial *trial)
{
        enum { FAILURE, CONTROL, OUTPUT, ERRORS, POLLS };
        long long deadline = clock_now_ms() + PATIENCE_MS;
        while (!running->ended) {
                struct pollfd polls[POLLS] = {
                    [FAILURE] = {.fd = running->launch.failure, .events = POLLIN},
                    [CONTROL] = {.fd = running->launch.control, .events = POLLIN},
                    [OUTPUT] = {.fd = running->output.pipe, .events = POLLIN},
                    [ERRORS] = {.fd = running->errors.pipe, .events = POLLIN},
                };
                long long left = deadline - clock_now_ms();
                if (left <= 0) {
                        error_set(&trial->error, EXIT_SETUP, "the trial did not end within %d seconds",
                                  PATIENCE_MS / 1000);
                        return;
                }
                if (poll(polls, POLLS, (int)left) <= 0)
                        continue;
                if (polls[OUTPUT].revents)
                        read_captured(&running->output);
                if (polls[ERRORS].revents)
                        read_captured(&running->errors);
                if (polls[FAILURE].revents)
                        read_failure(running, trial);
                else if (polls[CONTROL].revents)
                        read_control(running);
        }
        drain_captured(&running->output);
        drain_captured(&running->errors);
}

/* Ends pid 1 of the sandbox, and everything inside with it. The kernel may refuse the signal, so the control
 * socket is closed too. */
static void end_sandbox(struct running *running)
{
        (void)syscall(SYS_pidfd_send_signal, running->launch.init, SIGKILL, NULL, 0);
        fd_close(&running->launch.control);
        siginfo_t information;
        while (waitid(P_PIDFD, (id_t)running->launch.init, &information, WEXITED) < 0 && errno == EINTR)
                ;
        fd_close(&running->launch.init);
        fd_close(&running->launch.failure);
}

static void judge_end(const struct running *running, struct trial *trial)
{
        int status = running->wait_status;
        const char *line = running->output.line, *error_line = running->errors.line;
        trial->started = running->executed && running->ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        error_quote(trial->line, sizeof(trial->line), line, strlen(line));
        if (trial->started)
                return;
        if (status < 0)
                error_set(&trial->error, EXIT_SETUP,
                          "the sandbox of %s was killed from outside; `sudo dmesg | tail` may show why",
                          trial->path);
        if (WIFSIGNALED(status))
                error_set(&trial->error, EXIT_SETUP, "%s started in the sandbox and was killed by signal %d",
                          trial->path, WTERMSIG(status));
        error_set(&trial->error, EXIT_SETUP, "%s started in the sandbox and exited with status %d%s%s",
                  trial->path, WEXITSTATUS(status), error_line[0] ? ": " : "", error_shown(error_line));
}

/* Clones, and watches until the trial ends. The caller still owns the descriptors. */
static void launch_and_watch(const struct box *box, const struct launch_stdio *stdio, struct running *running,
                             struct trial *trial)
{
        long long asked = clock_now_ms();
        if (launch_start(box, stdio, &running->launch, &trial->error)) {
                watch_until_end(running, trial);
                trial->milliseconds = (unsigned)(clock_now_ms() - asked);
                end_sandbox(running);
                judge_end(running, trial);
        } else if (running->launch.refused) {
                trial->failure =
                    (struct failure){.stage = STAGE_NAMESPACES, .error = running->launch.refused};
        }
}

static bool open_pipe(int *reader, int *writer)
{
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
                return false;
        *reader = ends[0];
        *writer = ends[1];
        return true;
}

/* Runs the command with an input that has ended, and captures what it writes. All three are pipes, as under
 * `mcp`: a machine's /dev/null may be one that cannot be opened. */
static void run_box(const struct box *box, struct trial *trial)
{
        autoclose int input = -1, input_end = -1, output = -1, output_end = -1, errors = -1, errors_end = -1;
        if (!open_pipe(&input, &input_end) || !open_pipe(&output, &output_end) ||
            !open_pipe(&errors, &errors_end) || fcntl(output, F_SETFL, O_NONBLOCK) < 0 ||
            fcntl(errors, F_SETFL, O_NONBLOCK) < 0) {
                error_set(&trial->error, EXIT_SETUP, "cannot make a pipe: %s", strerror(errno));
                return;
        }
        fd_close(&input_end);
        /* The trial tests the steps of a start, so it gets no cgroup. */
        struct limits limits = box->limits;
        limits_choose_without_cgroup(&limits, box->outer_uid, box->proc, "");
        struct launch_stdio stdio = {.limits = &limits,
                                     .group = -1,
                                     .server = {input, output_end, errors_end},
                                     .terminal = -1,
                                     .nat = -1,
                                     .dialler = -1};
        struct running running = {
            .launch = {.init = -1, .control = -1, .failure = -1},
            .output.pipe = fd_take(&output),
            .errors.pipe = fd_take(&errors),
            .wait_status = -1,
        };
        launch_and_watch(box, &stdio, &running, trial);
        fd_close(&running.output.pipe);
        fd_close(&running.errors.pipe);
}

void trial_run(const struct str_list *command, enum trial_kind kind, struct trial *trial)
{
        *trial = (struct trial){.failure.stage = STAGE_COUNT};
        struct grant_option overlay = {
            .path = OVERLAY_DIRECTORY, .destination = OVERLAY_PLACE, .overlay = true, .option = "--overlay"};
        struct options options = {
            .command = *command,
            .no_proc = kind == TRIAL_NO_PROC,
            .stop_grace_seconds = LIMIT_NO_GRACE,
            .grants = kind == TRIAL_OVERLAY ? &overlay : NULL,
            .grant_count = kind == TRIAL_OVERLAY,
        };
        struct box box = {0};
        struct held_sources held = {0};
        /* If it is inherited as ignored, the kernel reaps the command, and pid 1 never learns its status. */
        signal(SIGCHLD, SIG_DFL);
        messages_send_to(discard, NULL);
        bool made = resolve_box(&box, &held, BOX_MCP, &options, &trial->error);
        snprintf(trial->path, sizeof(trial->path), "%s", box.executable ? box.executable : "");
        if (made)
                run_box(&box, trial);
        messages_send_to(NULL, NULL);
        held_sources_release(&held);
        watched_names_release(&held);
        box_free(&box);
}
