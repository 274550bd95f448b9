/* SPDX-License-Identifier: Apache-2.0
 *
 * See watchdog.h.
 *
 * Theory of operation. The process is a fork of the supervisor that keeps two sockets and nothing else. From
 * the sandbox's pid 1, before anything of the server exists, it gets descriptors of the sandbox's proc and of
 * its memory file systems; then it looks, the sooner again the less room is left. It lives in the caller's
 * pid namespace, where the sandbox can neither see nor signal it, and has the rights to look at what the
 * sandbox hides from its own kind, because the caller owns the sandbox's user namespace.
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
        FIRST_LOOK_MS = 20, /* from the start */
        SOONEST_MS = 10,
        LATEST_MS = 500,
        REST = 10,   /* it sleeps so many times as long as it worked */
        SURE = 3,    /* looks in a row: processes that end while they are counted, count for too much */
        SURE_MS = 5, /* from one of these to the next */
};

/* Bytes a millisecond that a storm may take, by which the next look is set. */
#define STORM_RATE (2ULL << 20)

/* ---- the process ---- */

struct looking {
        struct measured_places places;
        const struct limits *limits;
        int talk;
        unsigned over; /* looks in a row that were over the limit */
        bool said_processes, said_disk;
};

static void say(const struct looking *looking, enum watchdog_event event, uint64_t value)
{
        struct watchdog_report report = {.event = event, .value = value};
        (void)send(looking->talk, &report, sizeof(report), MSG_NOSIGNAL);
}

/* Waits for what the sandbox's pid 1 sends. False when it ended before, or the supervisor did. */
static bool receive_places(int socket, int talk, struct measured_places *places)
{
        union {
                struct cmsghdr head;
                char space[CMSG_SPACE(sizeof(int) * (MEASURE_MEMORIES_MOST + 2))];
        } control;
        char byte;
        struct iovec data = {.iov_base = &byte, .iov_len = 1};
        struct msghdr message = {
            .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
        struct pollfd polls[] = {{.fd = socket, .events = POLLIN}, {.fd = talk}};
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
        memcpy(places->memories, CMSG_DATA(head) + sizeof(first), sizeof(int) * count);
        places->memory_count = count;
        places->sockets = first[1];
        places->proc = openat(first[0], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return places->proc >= 0;
}

/* Looks once. Returns how long to wait for the next time, in milliseconds; -1: there is no next time. */
static int look(struct looking *looking)
{
        struct memory_use use;
        uint64_t limit = looking->limits->memory_bytes;
        double used = memory_use_seconds_used();
        switch (memory_use_measure(&looking->places, limit, &use)) {
        case MEASURED:
                break;
        case MEASURED_NOTHING:
                say(looking, WATCHDOG_BLIND, 0);
                return -1;
        case MEASURED_ENDED: /* which the supervisor sees as soon */
                return -1;
        }
        uint64_t worked = (uint64_t)((memory_use_seconds_used() - used) * 1e6);
        looking->over = use.memory > limit ? looking->over + 1 : 0;
        if (looking->over && looking->over < SURE)
                return SURE_MS;
        if (looking->over) {
                say(looking, WATCHDOG_MEMORY, use.memory);
                return -1;
        }
        if (use.tasks > looking->limits->pids && !looking->said_processes) {
                looking->said_processes = true;
                say(looking, WATCHDOG_PROCESSES, use.tasks);
        }
        if (use.disk_full && !looking->said_disk) {
                looking->said_disk = true;
                say(looking, WATCHDOG_DISK, 0);
        }
        uint64_t wait = use.memory < limit ? (limit - use.memory) / STORM_RATE : 0;
        uint64_t rest = worked * REST / 1000;
        if (wait < rest)
                wait = rest;
        return wait < SOONEST_MS ? SOONEST_MS : wait > LATEST_MS ? LATEST_MS : (int)wait;
}

static _Noreturn void become_watchdog(int places, int talk, const struct limits *limits)
{
        static struct looking looking;
        looking = (struct looking){.limits = limits, .talk = talk};
        struct pollfd supervisor = {.fd = talk};
        struct seccomp_program filter = seccomp_for_watchdog();
        (void)prctl(PR_SET_NAME, "hutch-watchdog", 0, 0, 0);
        /* A short run is spared the cost of everything else, the filter's too: nothing was read yet. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || poll(&supervisor, 1, FIRST_LOOK_MS) != 0 ||
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || seccomp_install(&filter) < 0)
                _exit(1);
        bool sees = receive_places(places, talk, &looking.places);
        close(places);
        for (int wait = 0; sees && wait >= 0; wait = look(&looking))
                if (poll(&supervisor, 1, wait) > 0) /* a hang-up: the supervisor has gone */
                        _exit(0);
        /* What it said ends the sandbox, or pid 1 ended before it began: the watchdog stays to be ended
         * itself, so that its end says nothing else. */
        for (;;)
                if (poll(&supervisor, 1, -1) > 0)
                        _exit(0);
}

/* Closes everything but two descriptors. */
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
        watchdog->sandbox = pair[0];
        watchdog->places = pair[1];
        return 0;
}

int watchdog_start(struct watchdog *watchdog, const struct limits *limits)
{
        int pair[2];
        fd_close(&watchdog->sandbox);
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        autoclose int own = pair[1];
        watchdog->talk = pair[0];
        pid_t process = fork();
        if (process == 0) {
                if (!keep_only(watchdog->places, own))
                        _exit(1);
                become_watchdog(watchdog->places, own, limits);
        }
        if (process < 0)
                return -errno;
        watchdog->process = process;
        fd_close(&watchdog->places);
        return 0;
}

enum watchdog_event watchdog_read(struct watchdog *watchdog, uint64_t *value)
{
        struct watchdog_report report;
        ssize_t length = recv(watchdog->talk, &report, sizeof(report), MSG_DONTWAIT);
        if (length < 0 && (errno == EAGAIN || errno == EINTR))
                return WATCHDOG_NOTHING;
        if (length != sizeof(report))
                return WATCHDOG_GONE;
        *value = report.value;
        return (enum watchdog_event)report.event;
}

void watchdog_end(struct watchdog *watchdog)
{
        fd_close(&watchdog->sandbox);
        fd_close(&watchdog->places);
        fd_close(&watchdog->talk);
        if (watchdog->process <= 0)
                return;
        (void)kill(watchdog->process, SIGKILL);
        while (waitpid(watchdog->process, NULL, 0) < 0 && errno == EINTR)
                ;
        watchdog->process = 0;
}
