/* SPDX-License-Identifier: Apache-2.0
 *
 * See trial.h.
 */
#include "doctor/trial.h"

#include "box/make.h"
#include "box/protect.h"
#include "lib/fd.h"
#include "ns/control.h"
#include "report/messages.h"

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

/* Any folder that every machine has and nobody minds: it is only looked at. */
#define OVERLAY_FOLDER "/usr/bin"
#define OVERLAY_PLACE  "/trial"

static long long now_ms(void)
{
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Notes are for the person who starts a server; doctor's rows say what they say. */
static void discard(void *context, const char *line, size_t length)
{
        (void)context, (void)line, (void)length;
}

/* The running trial, as this side holds it. */
struct running {
        struct launch launch;
        int output; /* reads the command's standard output */
        size_t length;
        bool executed;
        bool ended;
        int wait_status;
};

static void read_failure(struct running *running, struct trial *trial)
{
        ssize_t length = read(running->launch.failure, &trial->failure, sizeof(trial->failure));
        fd_close(&running->launch.failure);
        if (length == sizeof(trial->failure)) {
                failure_explain(&trial->failure, &trial->error);
                running->ended = true;
                return;
        }
        trial->failure.stage = STAGE_COUNT;
        running->executed = length == 0;
}

/* Keeps the first line, and takes the rest so that the command can end. */
static void read_output(struct running *running, struct trial *trial)
{
        char data[4096];
        ssize_t length = read(running->output, data, sizeof(data));
        if (length <= 0) {
                if (length == 0 || errno != EAGAIN)
                        fd_close(&running->output);
                return;
        }
        size_t room = sizeof(trial->line) - 1 - running->length;
        size_t kept = (size_t)length < room ? (size_t)length : room;
        memcpy(trial->line + running->length, data, kept);
        running->length += kept;
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

static void watch(struct running *running, struct trial *trial)
{
        enum { FAILURE, CONTROL, OUTPUT, POLLS };
        long long deadline = now_ms() + PATIENCE_MS;
        while (!running->ended) {
                struct pollfd polls[POLLS] = {
                    [FAILURE] = {.fd = running->launch.failure, .events = POLLIN},
                    [CONTROL] = {.fd = running->launch.control, .events = POLLIN},
                    [OUTPUT] = {.fd = running->output, .events = POLLIN},
                };
                long long left = deadline - now_ms();
                if (left <= 0) {
                        error_set(&trial->error, EXIT_SETUP, "the trial did not end within %d seconds",
                                  PATIENCE_MS / 1000);
                        return;
                }
                if (poll(polls, POLLS, (int)left) <= 0)
                        continue;
                if (polls[OUTPUT].revents)
                        read_output(running, trial);
                if (polls[FAILURE].revents)
                        read_failure(running, trial);
                else if (polls[CONTROL].revents)
                        read_control(running);
        }
        while (running->output >= 0 &&
               poll(&(struct pollfd){.fd = running->output, .events = POLLIN}, 1, 0) > 0)
                read_output(running, trial);
}

/* Ends pid 1 of the sandbox, and with it everything inside: by the signal, and by the hang-up for a kernel
 * that refuses the signal. */
static void finish(struct running *running)
{
        (void)syscall(SYS_pidfd_send_signal, running->launch.init, SIGKILL, NULL, 0);
        fd_close(&running->launch.control);
        siginfo_t information;
        while (waitid(P_PIDFD, (id_t)running->launch.init, &information, WEXITED) < 0 && errno == EINTR)
                ;
        fd_close(&running->launch.init);
        fd_close(&running->launch.failure);
        fd_close(&running->output);
}

static void judge_end(const struct running *running, struct trial *trial)
{
        int status = running->wait_status;
        trial->started = running->executed && running->ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        trial->line[strcspn(trial->line, "\r\n")] = 0;
        char raw[sizeof(trial->line)];
        memcpy(raw, trial->line, sizeof(raw));
        error_quote(trial->line, sizeof(trial->line), raw, strlen(raw));
        if (trial->started)
                return;
        if (status < 0)
                error_set(&trial->error, EXIT_SETUP,
                          "the sandbox of %s was ended from outside; `sudo dmesg | tail` may show by whom",
                          trial->path);
        if (WIFSIGNALED(status))
                error_set(&trial->error, EXIT_SETUP, "%s started in the sandbox and was ended by signal %d",
                          trial->path, WTERMSIG(status));
        error_set(&trial->error, EXIT_SETUP, "%s started in the sandbox and ended with status %d",
                  trial->path, WEXITSTATUS(status));
}

static void start(const struct box *box, struct trial *trial)
{
        int output[2];
        autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null < 0 || pipe2(output, O_CLOEXEC) < 0) {
                error_set(&trial->error, EXIT_SETUP, "cannot make a pipe: %s", strerror(errno));
                return;
        }
        (void)fcntl(output[0], F_SETFL, O_NONBLOCK);
        struct running running = {
            .launch = {.init = -1, .control = -1, .failure = -1},
            .output = output[0],
            .wait_status = -1,
        };
        struct launch_stdio stdio = {.server = {null, output[1], null}, .terminal = -1};
        long long asked = now_ms();
        bool cloned = launch_start(box, &stdio, &running.launch, &trial->error);
        close(output[1]);
        if (!cloned) {
                fd_close(&running.output);
                if (running.launch.refused)
                        trial->failure =
                            (struct failure){.stage = STAGE_NAMESPACES, .error = running.launch.refused};
                return;
        }
        watch(&running, trial);
        trial->milliseconds = (unsigned)(now_ms() - asked);
        finish(&running);
        judge_end(&running, trial);
}

void trial_run(const struct str_list *command, enum trial_kind kind, struct trial *trial)
{
        *trial = (struct trial){.failure.stage = STAGE_COUNT};
        struct grant_option overlay = {
            .path = OVERLAY_FOLDER, .destination = OVERLAY_PLACE, .overlay = true, .option = "--overlay"};
        struct options options = {
            .command = *command,
            .no_proc = kind == TRIAL_NO_PROC,
            .stop_grace_seconds = BOX_NO_GRACE,
            .grants = kind == TRIAL_OVERLAY ? &overlay : NULL,
            .grant_count = kind == TRIAL_OVERLAY,
        };
        struct box box = {0};
        struct held_sources held = {0};
        /* Inherited as ignored, the kernel would reap the command itself and never tell pid 1. */
        signal(SIGCHLD, SIG_DFL);
        messages_send_to(discard, NULL);
        bool made = box_make(&box, &held, BOX_MCP, &options, &trial->error);
        snprintf(trial->path, sizeof(trial->path), "%s", box.executable ? box.executable : "");
        if (made)
                start(&box, trial);
        messages_send_to(NULL, NULL);
        held_sources_release(&held);
        protect_release(&held);
        box_free(&box);
}
