/* SPDX-License-Identifier: Apache-2.0
 *
 * See watchdog.h.
 *
 * Theory of operation. The process is a fork of the supervisor that keeps two sockets and nothing else. The
 * sandbox's pid 1 sends it descriptors of the sandbox's /proc and of its memory file systems before anything
 * of the server exists. Then it measures again and again; the less room is left, the shorter it waits. It
 * runs in the caller's pid namespace, where the sandbox can neither see nor signal it. It may read what
 * processes of the sandbox hide from each other, because the caller owns the sandbox's user namespace.
 */
#include "enforce/watchdog.h"

#include "enforce/memory_use.h"
#include "lib/fd.h"
#include "seccomp/builtin.h"
#include "seccomp/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
        FIRST_LOOK_MS = 20, /* after the start */
        SOONEST_MS = 10,    /* bounds of the wait between two looks */
        LATEST_MS = 500,
        REST = 10, /* it sleeps at least this many times as long as a look took */
        /* So many looks in a row must be over the limit: processes that exit while they are being counted are
           counted for too much. */
        OVER_LOOKS = 3,
        OVER_WAIT_MS = 5, /* between two of these */
};

/* Bytes per millisecond that a sandbox is expected to take at most; sets the wait before the next look. */
#define STORM_RATE (2ULL << 20)

/* ---- the process ---- */

struct looking {
        struct memory_use_sources sources;
        const struct limits *limits;
        int control;
        struct watchdog_history history;
};

static void send_report(int control, enum watchdog_event event, uint64_t value)
{
        struct watchdog_report report = {.event = event, .value = value};
        (void)send(control, &report, sizeof(report), MSG_NOSIGNAL);
}

/* Waits for the descriptors that pid 1 sends. False when pid 1 or the supervisor has exited before. */
static bool receive_sources(int socket, int control, struct memory_use_sources *sources)
{
        union {
                struct cmsghdr head;
                char space[CMSG_SPACE(sizeof(int) * (MEMORY_USE_FILE_SYSTEMS_MAX + 2))];
        } ancillary;
        char byte;
        struct iovec data = {.iov_base = &byte, .iov_len = 1};
        struct msghdr message = {.msg_iov = &data,
                                 .msg_iovlen = 1,
                                 .msg_control = &ancillary,
                                 .msg_controllen = sizeof(ancillary)};
        struct pollfd polls[] = {{.fd = socket, .events = POLLIN}, {.fd = control}};
        while (poll(polls, 2, -1) < 0 || !(polls[0].revents | polls[1].revents))
                if (errno != EINTR)
                        return false;
        if (!(polls[0].revents & POLLIN) || recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1)
                return false;
        const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        int first[2];
        if (!head || head->cmsg_type != SCM_RIGHTS || head->cmsg_len < CMSG_LEN(sizeof(first)))
                return false;
        size_t count = (head->cmsg_len - CMSG_LEN(sizeof(first))) / sizeof(int);
        memcpy(first, CMSG_DATA(head), sizeof(first));
        memcpy(sources->file_systems, CMSG_DATA(head) + sizeof(first), sizeof(int) * count);
        sources->file_system_count = count;
        sources->sock_diag = first[1];
        sources->proc = openat(first[0], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return sources->proc >= 0;
}

enum watchdog_event watchdog_judge(struct watchdog_history *history, const struct memory_use *use,
                                   const struct limits *limits, uint64_t worked_us, int *wait)
{
        uint64_t limit = limits->memory_bytes;
        if (use->bytes > limit) {
                history->over++;
                *wait = history->over < OVER_LOOKS ? OVER_WAIT_MS : -1;
                return history->over < OVER_LOOKS ? WATCHDOG_EVENT_NONE : WATCHDOG_EVENT_MEMORY;
        }
        history->over = 0;
        uint64_t room = (limit - use->bytes) / STORM_RATE, rest = worked_us * REST / 1000;
        uint64_t next = room > rest ? room : rest;
        *wait = next < SOONEST_MS ? SOONEST_MS : next > LATEST_MS ? LATEST_MS : (int)next;
        if (use->tasks > limits->pids && !history->reported_pids) {
                history->reported_pids = true;
                return WATCHDOG_EVENT_PIDS;
        }
        if (use->disk_full && !history->reported_disk) {
                history->reported_disk = true;
                return WATCHDOG_EVENT_DISK;
        }
        return WATCHDOG_EVENT_NONE;
}

/* Looks once. Returns how many milliseconds to wait before the next look, or -1 when none follows. */
static int look(struct looking *looking)
{
        struct memory_use use;
        int wait = -1;
        double used = memory_use_cpu_seconds();
        switch (memory_use_measure(&looking->sources, looking->limits->memory_bytes, &use)) {
        case MEMORY_USE_KNOWN:
                break;
        case MEMORY_USE_UNKNOWN:
                send_report(looking->control, WATCHDOG_EVENT_BLIND, 0);
                return -1;
        case MEMORY_USE_ENDED: /* the supervisor learns it from pid 1 */
                return -1;
        }
        uint64_t worked_us = (uint64_t)((memory_use_cpu_seconds() - used) * 1e6);
        for (;;) {
                enum watchdog_event event =
                    watchdog_judge(&looking->history, &use, looking->limits, worked_us, &wait);
                if (event == WATCHDOG_EVENT_NONE)
                        return wait;
                send_report(looking->control, event, event == WATCHDOG_EVENT_PIDS ? use.tasks : use.bytes);
                if (event == WATCHDOG_EVENT_MEMORY)
                        return -1;
        }
}

static _Noreturn void become_watchdog(int sources_end, int control, const struct limits *limits)
{
        static struct looking looking;
        looking = (struct looking){.limits = limits, .control = control};
        struct pollfd supervisor = {.fd = control};
        struct seccomp_program filter = seccomp_for_watchdog();
        (void)prctl(PR_SET_NAME, "hutch-watchdog", 0, 0, 0);
        /* Waiting before the filter is loaded spares a short run its cost; nothing hostile was read yet. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || poll(&supervisor, 1, FIRST_LOOK_MS) != 0 ||
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || seccomp_install(&filter) < 0)
                _exit(1);
        bool sees = receive_sources(sources_end, control, &looking.sources);
        close(sources_end);
        for (int wait = 0; sees && wait >= 0; wait = look(&looking))
                if (poll(&supervisor, 1, wait) > 0) /* a hang-up: the supervisor has exited */
                        _exit(0);
        /* Its report ends the sandbox, or pid 1 has exited already. It stays until the supervisor kills it,
         * because an exit of its own would be read as a limit that no longer holds. */
        for (;;)
                if (poll(&supervisor, 1, -1) > 0)
                        _exit(0);
}

/* Closes every descriptor but these two. */
static bool keep_only(int one, int other)
{
        unsigned low = (unsigned)(one < other ? one : other), high = (unsigned)(one < other ? other : one);
        return (low == 0 || syscall(SYS_close_range, 0, low - 1, 0) == 0) &&
               (high == low + 1 || syscall(SYS_close_range, low + 1, high - 1, 0) == 0) &&
               syscall(SYS_close_range, high + 1, ~0U, 0) == 0;
}

/* ---- the supervisor's side ---- */

int watchdog_prepare(struct watchdog *watchdog)
{
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        watchdog->sandbox_end = pair[0];
        watchdog->sources_end = pair[1];
        return 0;
}

int watchdog_start(struct watchdog *watchdog, const struct limits *limits)
{
        int pair[2];
        fd_close(&watchdog->sandbox_end);
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        autoclose int own = pair[1];
        watchdog->control = pair[0];
        pid_t process = fork();
        if (process == 0) {
                if (!keep_only(watchdog->sources_end, own))
                        _exit(1);
                become_watchdog(watchdog->sources_end, own, limits);
        }
        if (process < 0)
                return -errno;
        watchdog->process = process;
        fd_close(&watchdog->sources_end);
        return 0;
}

enum watchdog_event watchdog_read(struct watchdog *watchdog, uint64_t *value)
{
        struct watchdog_report report;
        ssize_t length = recv(watchdog->control, &report, sizeof(report), MSG_DONTWAIT);
        if (length < 0 && (errno == EAGAIN || errno == EINTR))
                return WATCHDOG_EVENT_NONE;
        if (length != sizeof(report))
                return WATCHDOG_EVENT_GONE;
        *value = report.value;
        return (enum watchdog_event)report.event;
}

void watchdog_end(struct watchdog *watchdog)
{
        fd_close(&watchdog->sandbox_end);
        fd_close(&watchdog->sources_end);
        fd_close(&watchdog->control);
        if (watchdog->process <= 0)
                return;
        (void)kill(watchdog->process, SIGKILL);
        while (waitpid(watchdog->process, NULL, 0) < 0 && errno == EINTR)
                ;
        watchdog->process = 0;
}
