/* SPDX-License-Identifier: Apache-2.0
 *
 * Pid 1 of the sandbox. It starts the server, reaps whatever is orphaned, forwards what the supervisor says
 * and ends when the server or the supervisor does; its end is the end of every process inside, because the
 * kernel kills a pid namespace with its first process. It holds no privilege, no descriptor of the client,
 * and is not dumpable. What it may call is in policy/seccomp/init.json.
 */
#include "lib/fd.h"
#include "lib/pages.h"
#include "ns/control.h"
#include "ns/launch.h"
#include "ns/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { FAILURE_DESCRIPTOR = 3 };

/* Puts the server in a session or a process group of its own: `kill 0` inside then reaches the sandbox only,
 * never hutch and what was started beside it. */
static void leave_group(const struct entering *entering, bool foreground)
{
        if (entering->terminal < 0) {
                if (layer_enabled(LAYER_SESSION) && setsid() < 0)
                        entering_fail(entering, STAGE_STDIO, errno, "setsid");
                return;
        }
        /* SIGTTOU is still blocked, or the kernel would stop a background group that takes the terminal. */
        if (setpgid(0, 0) < 0 || (foreground && tcsetpgrp(entering->terminal, getpid()) < 0))
                entering_fail(entering, STAGE_STDIO, errno, "terminal");
}

static bool is_terminal(int fd, const struct stat *terminal)
{
        struct stat status;
        return fd >= 0 && fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) &&
               status.st_rdev == terminal->st_rdev;
}

/* Gives the server a way of its own to the terminal, through the read-only mount of dev.c. By the caller's
 * descriptors it could open the terminal to every user of the machine (fchmod), and leave flags behind. Where
 * the caller may not open it (the terminal of an su) it is not the caller's, whose descriptors then serve. */
static void reopen_terminal(struct entering *entering)
{
        struct stat terminal;
        if (entering->terminal < 0 || fstat(entering->terminal, &terminal) < 0)
                return;
        int fd = open("/dev/console", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
        if (!is_terminal(fd, &terminal) || fcntl(fd, F_SETFL, O_RDWR) < 0)
                return; /* what is open is closed with the rest */
        for (int i = 0; i < 3; i++)
                if (is_terminal(entering->server[i], &terminal))
                        entering->server[i] = fd;
}

/* Leaves the server with 0, 1, 2 and, until execve(), the failure pipe. */
static void take_descriptors(struct entering *entering)
{
        for (int i = 0; i < 3; i++)
                if (entering->server[i] != i && dup2(entering->server[i], i) < 0)
                        entering_fail(entering, STAGE_STDIO, errno, NULL);
        if (entering->failure != FAILURE_DESCRIPTOR &&
            dup3(entering->failure, FAILURE_DESCRIPTOR, O_CLOEXEC) < 0)
                entering_fail(entering, STAGE_STDIO, errno, NULL);
        entering->failure = FAILURE_DESCRIPTOR;
        if (syscall(SYS_close_range, FAILURE_DESCRIPTOR + 1, ~0U, 0) < 0)
                entering_fail(entering, STAGE_STDIO, errno, NULL);
}

static void reset_signals(void)
{
        /* SIGPIPE is the only one that hutch ignores; what its caller ignored (nohup) stays ignored. */
        sigset_t none;
        signal(SIGPIPE, SIG_DFL);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The forked child that becomes the server. */
static _Noreturn void become_server(struct entering *entering, bool foreground)
{
        const struct box *box = entering->box;
        leave_group(entering, foreground);
        reopen_terminal(entering);
        take_descriptors(entering);
        limits_set_open_files(entering);
        if (chdir(box->cwd) < 0)
                entering_fail(entering, STAGE_CWD, errno, box->cwd);
        reset_signals();

        landlock_enter(entering);
        /* The argument filter first: once the profile is loaded, no further filter need be permitted. */
        int error = 0;
        if (layer_enabled(LAYER_SECCOMP_ARGUMENTS))
                error = seccomp_install(&entering->arguments);
        if (error == 0 && layer_enabled(LAYER_SECCOMP_PROFILE))
                error = seccomp_install(&entering->profile);
        if (error < 0)
                entering_fail(entering, STAGE_SECCOMP, -error, NULL);

        execve(box->executable, box->started.values, box->environment.values);
        entering_fail(entering, STAGE_EXEC, errno, box->executable);
}

static void tell_supervisor(const struct entering *entering, enum control_type type, int value)
{
        struct control_message message = {.type = type, .value = value};
        (void)send(entering->control, &message, sizeof(message), MSG_NOSIGNAL);
}

/* Reaps what has ended. Returns when nothing is left to reap now. */
static void reap(const struct entering *entering, pid_t server)
{
        int status;
        pid_t child;
        while ((child = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
                if (child != server)
                        continue;
                if (WIFSTOPPED(status)) {
                        tell_supervisor(entering, CONTROL_STOPPED, WSTOPSIG(status));
                        continue;
                }
                tell_supervisor(entering, CONTROL_EXITED, status);
                _exit(0);
        }
}

static void obey(const struct entering *entering, pid_t server)
{
        struct control_message message;
        ssize_t length = recv(entering->control, &message, sizeof(message), 0);
        if (length < 0 && errno == EINTR)
                return;
        if (length != sizeof(message)) /* 0: the supervisor is gone */
                _exit(0);
        if (message.type == CONTROL_SETTLE) {
                pages_forget_start();
        } else if (message.type == CONTROL_SIGNAL) {
                kill(-server, message.value);
        } else if (message.type == CONTROL_CONTINUE) {
                if (message.value && entering->terminal >= 0)
                        (void)tcsetpgrp(entering->terminal, server);
                kill(-server, SIGCONT);
        }
}

/* Closes everything that pid 1 does not use; a descriptor of the server's pipes held here would keep the
 * client waiting after the server has gone. */
static void keep_only(struct entering *entering, int signals)
{
        int keep[] = {entering->control, signals, entering->terminal, entering->dialler};
        for (size_t i = 0; i < sizeof(keep) / sizeof(*keep); i++)
                for (size_t j = i + 1; j < sizeof(keep) / sizeof(*keep); j++)
                        if (keep[j] < keep[i]) {
                                int lower = keep[j];
                                keep[j] = keep[i];
                                keep[i] = lower;
                        }
        unsigned next = 0;
        for (size_t i = 0; i < sizeof(keep) / sizeof(*keep); i++) {
                if (keep[i] < 0)
                        continue;
                if ((unsigned)keep[i] > next && syscall(SYS_close_range, next, (unsigned)keep[i] - 1, 0) < 0)
                        _exit(EXIT_SETUP);
                next = (unsigned)keep[i] + 1;
        }
        if (syscall(SYS_close_range, next, ~0U, 0) < 0)
                _exit(EXIT_SETUP);
}

void init_run(struct entering *entering, bool foreground)
{
        sigset_t child_ended;
        sigemptyset(&child_ended);
        sigaddset(&child_ended, SIGCHLD);
        sigprocmask(SIG_BLOCK, &child_ended, NULL);
        int signals = signalfd(-1, &child_ended, SFD_CLOEXEC);
        if (signals < 0)
                entering_fail(entering, STAGE_FORK, errno, NULL);

        /* The child only makes system calls until execve() and never returns: it may borrow this memory,
         * which saves copying it. What it changes in *entering is of no further use here. */
        pid_t server = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
        if (server == 0)
                become_server(entering, foreground); /* NOLINT(clang-analyzer-unix.Vfork): it never returns */
        if (server < 0)
                entering_fail(entering, STAGE_FORK, errno, NULL);

        int error = layer_enabled(LAYER_SECCOMP_PROFILE) ? seccomp_install(&entering->init_filter) : 0;
        if (error < 0)
                entering_fail(entering, STAGE_SECCOMP, -error, NULL);
        keep_only(entering, signals);

        struct pollfd polls[] = {
            {.fd = entering->control, .events = POLLIN},
            {.fd = signals, .events = POLLIN},
            {.fd = entering->dialler, .events = POLLIN},
        };
        for (;;) {
                if (poll(polls, sizeof(polls) / sizeof(*polls), -1) < 0)
                        continue;
                if (polls[2].revents && !dial_answer(entering->dialler))
                        polls[2].fd = -1;
                if (polls[1].revents) {
                        struct signalfd_siginfo ignored;
                        if (read(signals, &ignored, sizeof(ignored)) > 0)
                                reap(entering, server);
                }
                if (polls[0].revents)
                        obey(entering, server);
        }
}
