/* SPDX-License-Identifier: Apache-2.0
 *
 * See init.h.
 *
 * Pid 1 reaps orphans and passes the supervisor's signals on. It ends when the server or the supervisor does,
 * and the kernel then kills every process inside, because a pid namespace ends with its first process. Pid 1
 * has no privilege and no descriptor of the client, and it is not dumpable. policy/seccomp/init.json lists
 * the system calls that it may make.
 */
#include "ns/init.h"

#include "lib/pages.h"
#include "ns/control.h"
#include "ns/dial.h"
#include "ns/landlock.h"
#include "ns/layers.h"
#include "ns/rlimits.h"

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

/* Puts the server in a new session or process group, so that `kill 0` inside never reaches hutch and what was
 * started beside it. */
static void leave_group(const struct entering *entering)
{
        if (entering->terminal < 0) {
                if (layer_enabled(LAYER_SESSION) && setsid() < 0)
                        entering_fail(entering, STAGE_STDIO, errno, "setsid");
                return;
        }
        /* SIGTTOU is still blocked; otherwise the kernel would stop a background group that takes the
         * terminal. */
        if (setpgid(0, 0) < 0 || (entering->foreground && tcsetpgrp(entering->terminal, getpid()) < 0))
                entering_fail(entering, STAGE_STDIO, errno, "terminal");
}

static bool is_terminal(int fd, const struct stat *terminal)
{
        struct stat status;
        return fd >= 0 && fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) &&
               status.st_rdev == terminal->st_rdev;
}

/* Opens the terminal again for the server, through the read-only mount of dev.c. With the caller's
 * descriptors the server could give every user of the machine access to the terminal (fchmod), and leave file
 * flags behind. A terminal that the caller may not open (after su) is not the caller's; the server then keeps
 * the caller's descriptors. */
static void reopen_terminal(struct entering *entering)
{
        struct stat terminal;
        if (entering->terminal < 0 || fstat(entering->terminal, &terminal) < 0)
                return;
        int fd = open("/dev/console", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
        if (!is_terminal(fd, &terminal) || fcntl(fd, F_SETFL, O_RDWR) < 0)
                return; /* take_descriptors() closes fd */
        for (int i = 0; i < 3; i++)
                if (is_terminal(entering->server[i], &terminal))
                        entering->server[i] = fd;
}

/* Moves the server's descriptors to 0, 1 and 2, and closes all others but the failure pipe, which execve()
 * closes. */
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
        /* hutch itself ignores SIGPIPE only. What its caller ignored (nohup) stays ignored. */
        sigset_t none;
        signal(SIGPIPE, SIG_DFL);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The forked child: turns into the server. */
static _Noreturn void become_server(struct entering *entering)
{
        const struct box *box = entering->box;
        leave_group(entering);
        reopen_terminal(entering);
        take_descriptors(entering);
        rlimits_set_open_files(entering);
        if (chdir(box->cwd) < 0)
                entering_fail(entering, STAGE_CWD, errno, box->cwd);
        reset_signals();

        landlock_enter(entering);
        /* The argument filter first: the profile need not permit another filter then. */
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

/* Reaps every child that has ended. Ends pid 1, and with it the sandbox, when the server is one of them. */
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
        if (length != sizeof(message)) /* 0: the supervisor has gone */
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

/* Closes every descriptor that pid 1 does not use. With an end of the server's pipes open here, the client
 * would see no end of file after the server has gone. */
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

void init_run(struct entering *entering)
{
        sigset_t child_ended;
        sigemptyset(&child_ended);
        sigaddset(&child_ended, SIGCHLD);
        sigprocmask(SIG_BLOCK, &child_ended, NULL);
        int signals = signalfd(-1, &child_ended, SFD_CLOEXEC);
        if (signals < 0)
                entering_fail(entering, STAGE_FORK, errno, NULL);

        /* The child makes system calls only until execve() and never returns, so it can share this memory,
         * which saves a copy. Pid 1 does not use what the child changes in *entering. */
        pid_t server = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
        if (server == 0)
                become_server(entering); /* NOLINT(clang-analyzer-unix.Vfork): it never returns */
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
