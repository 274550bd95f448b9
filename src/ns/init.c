/* SPDX-License-Identifier: Apache-2.0
 *
 * See init.h.
 *
 * Pid 1 reaps orphans, passes the supervisor's signals on, and keeps two limits by a timer: --timeout, and
 * --memory where no cgroup does. It ends when the server or the supervisor does, or at a limit, and the
 * kernel then kills every process inside, because a pid namespace ends with its first process. Nothing that
 * happens inside or to the supervisor may keep it from its timer: it waits in poll() only, and does a bounded
 * piece of work between two looks at the clock. Pid 1 has no privilege and no descriptor of the client, and
 * it is not dumpable. policy/seccomp/init.json lists the system calls that it may make.
 */
#include "ns/init.h"

#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/pages.h"
#include "lib/str.h"
#include "ns/control.h"
#include "ns/dial.h"
#include "ns/landlock.h"
#include "ns/layers.h"
#include "ns/memory_watch.h"
#include "ns/rlimits.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
        FAILURE_DESCRIPTOR = 3,
        REAPED_MOST = 256, /* children between two looks at the clock */
};

#define NEVER (-1LL)

/* What pid 1 does, and when next, in monotonic ms. */
struct duty {
        const struct entering *entering;
        pid_t server;
        bool told_stop; /* the supervisor has not answered CONTROL_STOPPED yet */
        bool sent_term; /* the server has had SIGTERM */
        bool reaping;   /* more children may have ended */
        long long timeout, end, look;
        struct memory_use_sources sources;
        struct memory_watch watch;
};

/* Puts the server in a new session or process group, so that `kill 0` inside never reaches hutch and what was
 * started beside it. */
static void leave_group(const struct entering *entering)
{
        if (entering->stdio.terminal < 0) {
                if (layer_enabled(LAYER_SESSION) && setsid() < 0)
                        entering_fail(entering, STAGE_STDIO, errno, "setsid");
                return;
        }
        /* SIGTTOU is still blocked; otherwise the kernel would stop a background group that takes the
         * terminal. */
        if (setpgid(0, 0) < 0 ||
            (entering->stdio.foreground && tcsetpgrp(entering->stdio.terminal, getpid()) < 0))
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
        if (entering->stdio.terminal < 0 || fstat(entering->stdio.terminal, &terminal) < 0)
                return;
        int fd = open("/dev/console", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
        if (!is_terminal(fd, &terminal) || fcntl(fd, F_SETFL, O_RDWR) < 0)
                return; /* take_descriptors() closes fd */
        for (int i = 0; i < 3; i++)
                if (is_terminal(entering->stdio.server[i], &terminal))
                        entering->stdio.server[i] = fd;
}

/* Moves the server's descriptors to 0, 1 and 2, and closes all others but the failure pipe, which execve()
 * closes. */
static void take_descriptors(struct entering *entering)
{
        for (int i = 0; i < 3; i++)
                if (entering->stdio.server[i] != i && dup2(entering->stdio.server[i], i) < 0)
                        entering_fail(entering, STAGE_STDIO, errno, NULL);
        if (entering->failure != FAILURE_DESCRIPTOR &&
            dup3(entering->failure, FAILURE_DESCRIPTOR, O_CLOEXEC) < 0)
                entering_fail(entering, STAGE_STDIO, errno, NULL);
        entering->failure = FAILURE_DESCRIPTOR;
        entering_check(entering, STAGE_STDIO, NULL, syscall(SYS_close_range, FAILURE_DESCRIPTOR + 1, ~0U, 0));
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
        entering_check(entering, STAGE_CWD, box->cwd, chdir(box->cwd));
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

/* Never waits: the supervisor may be stopped. control.h says why the message fits all the same. */
static void tell_supervisor(const struct duty *duty, enum control_type type, int value)
{
        struct control_message message = {.type = type, .value = value};
        (void)send(duty->entering->control, &message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Reaps children that have ended, orphans among them. A storm of them is reaped in pieces, because it could
 * last for ever. Ends pid 1, and with it the sandbox, when the server is one of them. */
static void reap(struct duty *duty)
{
        int status;
        for (unsigned i = 0; i < REAPED_MOST; i++) {
                pid_t child = waitpid(-1, &status, WNOHANG | WUNTRACED);
                duty->reaping = child > 0;
                if (!duty->reaping)
                        return;
                if (child != duty->server)
                        continue;
                if (!WIFSTOPPED(status)) {
                        tell_supervisor(duty, CONTROL_EXITED, status);
                        _exit(0);
                }
                if (!duty->told_stop)
                        tell_supervisor(duty, CONTROL_STOPPED, WSTOPSIG(status));
                duty->told_stop = true;
        }
}

static void obey(struct duty *duty)
{
        const struct entering *entering = duty->entering;
        struct control_message message;
        ssize_t length = recv(entering->control, &message, sizeof(message), 0);
        if (length < 0 && errno == EINTR)
                return;
        if (length != sizeof(message)) /* 0: the supervisor has gone */
                _exit(0);
        if (message.type == CONTROL_SETTLE) {
                pages_forget_start();
        } else if (message.type == CONTROL_SIGNAL) {
                duty->sent_term |= message.value == SIGTERM;
                kill(-duty->server, message.value);
        } else if (message.type == CONTROL_CONTINUE) {
                duty->told_stop = false;
                if (message.value && entering->stdio.terminal >= 0)
                        (void)tcsetpgrp(entering->stdio.terminal, duty->server);
                kill(-duty->server, SIGCONT);
        }
}

/* Measures the sandbox's memory. Ends pid 1 at the limit, and where it cannot measure. */
static void look(struct duty *duty)
{
        const struct limits *limits = &duty->entering->limits;
        struct memory_use use;
        enum control_type report;
        int wait;
        uint64_t began = memory_use_cpu_us();
        if (!memory_use_measure(&duty->sources, limits->memory_bytes, &use)) {
                tell_supervisor(duty, CONTROL_BLIND, 0);
                _exit(0);
        }
        uint64_t worked = memory_use_cpu_us() - began;
        /* The report is in the socket before pid 1 exits, so the supervisor reads it before the hang-up. */
        while ((report = memory_watch_judge(&duty->watch, &use, limits, worked, &wait)) != CONTROL_NONE) {
                tell_supervisor(duty, report, (int)(use.bytes >> 20));
                if (report == CONTROL_MEMORY)
                        _exit(0);
        }
        duty->look = clock_now_ms() + wait;
}

static bool is_due(long long at, long long now)
{
        return at != NEVER && now >= at;
}

static void meet_deadlines(struct duty *duty)
{
        long long now = clock_now_ms();
        if (is_due(duty->timeout, now)) {
                duty->timeout = NEVER;
                duty->end = now + CONTROL_KILL_AFTER_MS;
                tell_supervisor(duty, CONTROL_TIMEOUT, 0);
                if (!duty->sent_term)
                        kill(-duty->server, SIGTERM);
        }
        if (is_due(duty->end, now))
                _exit(0);
        if (is_due(duty->look, now))
                look(duty);
}

/* Milliseconds until the next deadline, as poll() takes them. */
static int time_left(const struct duty *duty)
{
        enum { LONGEST_MS = 3600000 };
        const long long all[] = {duty->timeout, duty->end, duty->look};
        long long now = clock_now_ms(), left = LONGEST_MS;
        for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
                if (all[i] != NEVER && all[i] - now < left)
                        left = all[i] - now;
        return duty->reaping || left < 0 ? 0 : (int)left;
}

/* Closes every descriptor but those of pid 1. With an end of the server's pipes open here, the client would
 * see no end of file after the server has gone. */
static void close_all_but(const int *keep, size_t count)
{
        for (unsigned next = 0, kept = 0; kept < UINT_MAX; next = kept + 1) {
                kept = UINT_MAX;
                for (size_t i = 0; i < count; i++)
                        if (keep[i] >= 0 && (unsigned)keep[i] >= next && (unsigned)keep[i] < kept)
                                kept = (unsigned)keep[i];
                if (kept > next && syscall(SYS_close_range, next, kept - 1, 0) < 0)
                        _exit(EXIT_SETUP);
        }
}

/* What the watchdog measures; nothing where a cgroup limits the memory. */
static struct memory_use_sources find_sources(const struct entering *entering)
{
        /* The first is the root's tmpfs. It ends read-only and nearly empty, so it is not measured. */
        enum { FIRST = 1 };
        if (entering->limits.memory != LIMIT_WATCHDOG || !layer_enabled(LAYER_MOUNT) ||
            !layer_enabled(LAYER_PID))
                return (struct memory_use_sources){.proc = -1};
        if (entering->proc < 0) /* the limit would not hold, and nobody would know */
                entering_fail(entering, STAGE_LIMIT, ENOENT, "memory");
        return (struct memory_use_sources){.proc = entering->proc,
                                           .file_systems = entering->memories + FIRST,
                                           .file_system_count = entering->device_count - FIRST};
}

void init_run(struct entering *entering)
{
        sigset_t child_ended;
        sigemptyset(&child_ended);
        sigaddset(&child_ended, SIGCHLD);
        sigprocmask(SIG_BLOCK, &child_ended, NULL);
        int signals = entering_check(entering, STAGE_FORK, NULL, signalfd(-1, &child_ended, SFD_CLOEXEC));
        struct duty duty = {.entering = entering,
                            .timeout = NEVER,
                            .end = NEVER,
                            .look = NEVER,
                            .sources = find_sources(entering)};
        const int own[] = {entering->control, signals, entering->stdio.terminal, entering->stdio.dialler,
                           duty.sources.proc};
        size_t own_count = sizeof(own) / sizeof(*own), kept = own_count + duty.sources.file_system_count;
        autofree int *keep = str_or_die(calloc(kept, sizeof(*keep)));
        memcpy(keep, own, sizeof(own));
        if (duty.sources.file_system_count)
                memcpy(keep + own_count, duty.sources.file_systems, (kept - own_count) * sizeof(*keep));

        /* The child makes system calls only until execve() and never returns, so it can share this memory,
         * which saves a copy. Of what the child changes in *entering, pid 1 uses the failure pipe alone. */
        int failure = entering->failure;
        duty.server = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
        if (duty.server == 0)
                become_server(entering); /* NOLINT(clang-analyzer-unix.Vfork): it never returns */
        entering->failure = failure;
        entering_check(entering, STAGE_FORK, NULL, duty.server);

        int error = layer_enabled(LAYER_SECCOMP_PROFILE) ? seccomp_install(&entering->init_filter) : 0;
        if (error < 0)
                entering_fail(entering, STAGE_SECCOMP, -error, NULL);
        close_all_but(keep, kept);

        long long now = clock_now_ms();
        if (duty.sources.proc >= 0)
                duty.look = now + MEMORY_WATCH_FIRST_MS;
        if (entering->box->timeout_seconds)
                duty.timeout = now + entering->box->timeout_seconds * 1000LL;
        struct pollfd polls[] = {
            {.fd = entering->control, .events = POLLIN},
            {.fd = signals, .events = POLLIN},
            {.fd = entering->stdio.dialler, .events = POLLIN},
        };
        for (;;) {
                int ready = poll(polls, sizeof(polls) / sizeof(*polls), time_left(&duty));
                if (ready > 0 && polls[2].revents && !dial_answer(entering->stdio.dialler))
                        polls[2].fd = -1;
                struct signalfd_siginfo ignored;
                if ((ready > 0 && polls[1].revents && read(signals, &ignored, sizeof(ignored)) > 0) ||
                    duty.reaping)
                        reap(&duty);
                if (ready > 0 && polls[0].revents)
                        obey(&duty);
                meet_deadlines(&duty);
        }
}
