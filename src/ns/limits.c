/* SPDX-License-Identifier: Apache-2.0
 *
 * What holds the sandbox's limits inside of it: resource limits of each process, the pid namespace's highest
 * number, the set of processors; and what the watchdog outside (enforce/watchdog.h) needs to see. They only
 * ever lower what the caller has.
 */
#include "lib/fd.h"
#include "lib/str.h"
#include "ns/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum { SCORE = 500, SCORE_TEXT_MAX = 64 }; /* of oom_score_adj, whose highest is 1000 */

/* Pid 1 is one of hutch's own. */
enum { OWN_PROCESSES = 1 };

/* The kernel keeps the numbers below 300 to itself once it begins again from the lowest. */
enum { RESERVED_PIDS = 300 };

static void lower(const struct entering *entering, __rlimit_resource_t resource, rlim_t most,
                  const char *name)
{
        struct rlimit limit;
        if (getrlimit(resource, &limit) < 0)
                entering_fail(entering, STAGE_LIMIT, errno, name);
        if (limit.rlim_max > most)
                limit.rlim_max = most;
        /* Sources of grants are still held open; the server gets the caller's own bound later. */
        if (resource == RLIMIT_NOFILE || limit.rlim_cur > limit.rlim_max)
                limit.rlim_cur = limit.rlim_max;
        if (setrlimit(resource, &limit) < 0)
                entering_fail(entering, STAGE_LIMIT, errno, name);
}

/* What one process may allocate. Under the watchdog it is twice the limit: a process that comes to hold more
 * than was permitted is to be ended with a sentence, and not to meet a failed allocation just before; what is
 * left for this one to stop is an allocation too large for any look to come in time. */
static rlim_t data_most(const struct limits *limits)
{
        rlim_t most;
        if (limits->memory != LIMIT_WATCHDOG || __builtin_mul_overflow(limits->memory_bytes, 2, &most))
                return limits->memory_bytes;
        return most;
}

static bool without_cgroup(const struct limits *limits)
{
        return limits->processes == LIMIT_RLIMIT || limits->processes == LIMIT_PID_MAX;
}

void limits_set_pid_max(const struct entering *entering)
{
        if (!without_cgroup(&entering->limits) || !limits_pid_max_is_own())
                return;
        char text[32];
        int length =
            snprintf(text, sizeof(text), "%u", entering->limits.pids + OWN_PROCESSES + RESERVED_PIDS);
        autoclose int file = open("/proc/sys/kernel/pid_max", O_WRONLY | O_CLOEXEC);
        int error = file < 0 ? -errno : fd_write_all(file, text, (size_t)length);
        if (error < 0)
                entering_fail(entering, STAGE_LIMIT, -error, "pid_max");
}

/* So many of the processors that the caller may use. Which, differs from sandbox to sandbox. */
static void limit_processors(const struct entering *entering)
{
        enum { PROCESSORS_MOST = 8192 };
        static unsigned char had[PROCESSORS_MOST / 8], left[PROCESSORS_MOST / 8];
        unsigned wanted = entering->limits.cpus / LIMITS_CPUS_WHOLE;
        cpu_set_t *mask = (cpu_set_t *)had, *chosen = (cpu_set_t *)left;
        if (sched_getaffinity(0, sizeof(had), mask) < 0)
                entering_fail(entering, STAGE_LIMIT, errno, "cpus");
        int count = CPU_COUNT_S(sizeof(had), mask);
        if (wanted >= (unsigned)count)
                return;
        unsigned skipped = (unsigned)entering->spread % (unsigned)count;
        for (unsigned round = 0; round < 2; round++)
                for (size_t cpu = 0; cpu < PROCESSORS_MOST; cpu++) {
                        if (!CPU_ISSET_S(cpu, sizeof(had), mask))
                                continue;
                        if (skipped) {
                                skipped--;
                        } else if (wanted) {
                                CPU_SET_S(cpu, sizeof(left), chosen);
                                wanted--;
                        }
                }
        if (sched_setaffinity(0, sizeof(left), chosen) < 0)
                entering_fail(entering, STAGE_LIMIT, errno, "cpus");
}

void limits_set(const struct entering *entering)
{
        const struct limits *asked = &entering->limits;
        static const struct {
                __rlimit_resource_t resource;
                rlim_t most;
                const char *name;
        } limits[] = {
            {RLIMIT_CORE, 0, "core"}, /* no dump of secrets, and no helper that core_pattern names */
            {RLIMIT_NOFILE, 4096, "nofile"},
            {RLIMIT_SIGPENDING, 4096, "sigpending"}, /* the kernel counts these per user, not per sandbox: */
            {RLIMIT_MSGQUEUE, 65536, "msgqueue"},    /* without a bound one sandbox could use them up */
            {RLIMIT_MEMLOCK, 65536, "memlock"},
            {RLIMIT_RTPRIO, 0, "rtprio"},
        };

        for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
                lower(entering, limits[i].resource, limits[i].most, limits[i].name);
        /* The kernel counts the processes of each user namespace by itself, so this is a budget of the
         * sandbox's own. */
        if (without_cgroup(asked))
                lower(entering, RLIMIT_NPROC, asked->pids + OWN_PROCESSES, "nproc");
        if (asked->memory != LIMIT_CGROUP)
                lower(entering, RLIMIT_DATA, data_most(asked), "data");
        if (asked->processors == LIMIT_AFFINITY)
                limit_processors(entering);
}

static void close_shown(struct entering *entering)
{
        fd_close(&entering->watchdog);
        fd_close(&entering->proc);
        for (size_t i = 0; i < entering->device_count; i++)
                fd_close(&entering->memories[i]);
}

void limits_join_group(const struct entering *entering)
{
        autoclose int processes = openat(entering->group, "cgroup.procs", O_WRONLY | O_CLOEXEC);
        int error = processes < 0 ? -errno : fd_write_all(processes, "0", 1);
        if (error < 0)
                entering_fail(entering, STAGE_LIMIT, -error, "cgroup");
}

void limits_offer_to_killer(const struct entering *entering)
{
        static const char path[] = "/proc/self/oom_score_adj";
        char score[16];
        char *text = NULL;
        if (entering->limits.memory != LIMIT_WATCHDOG || fd_read_file(path, SCORE_TEXT_MAX, &text) < 0)
                return;
        autofree char *inherited = text;
        autoclose int file = strtol(inherited, NULL, 10) < SCORE ? open(path, O_WRONLY | O_CLOEXEC) : -1;
        int length = snprintf(score, sizeof(score), "%d", SCORE);
        if (file >= 0)
                (void)fd_write_all(file, score, (size_t)length);
}

void limits_hide_unseen(const struct entering *entering)
{
        if (entering->limits.memory != LIMIT_WATCHDOG)
                return;
        for (size_t i = 0; i < entering->box->mount_count; i++)
                if (entering->box->mounts[i].kind == MOUNT_DEV)
                        dev_cover_zero(entering, entering->box->mounts[i].destination);
}

void limits_await(struct entering *entering)
{
        unsigned char holds;
        if (entering->permission >= 0) {
                /* The end of it: the supervisor has gone. */
                if (read(entering->permission, &holds, 1) != 1)
                        _exit(EXIT_SETUP);
                fd_close(&entering->permission);
                limits_settle(&entering->limits, holds, entering->box->outer_uid, entering->box->proc, "");
        }
        /* Only here: its root is the group in which the process that makes it is. */
        if (entering->own_groups && unshare(CLONE_NEWCGROUP) < 0)
                entering_fail(entering, STAGE_LIMIT, errno, "cgroup");
}

void limits_show(struct entering *entering)
{
        /* The root's own memory ends read-only, with nothing in it: it is not sent. */
        enum { FIRST = 1, MOST = 200 };
        union {
                struct cmsghdr head;
                char space[CMSG_SPACE(sizeof(int) * (MOST + 2))];
        } control = {0};
        if (entering->watchdog < 0)
                return;
        if (entering->limits.memory != LIMIT_WATCHDOG) {
                close_shown(entering);
                return;
        }
        size_t memories = entering->device_count - FIRST;
        if (entering->proc < 0 || memories > MOST)
                entering_fail(entering, STAGE_LIMIT, E2BIG, "memory");
        /* It asks about the network namespace in which it was made. */
        autoclose int sockets = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
        /* A kernel without it, or a container that refuses it, says nothing about sockets: what stands in its
         * place is no socket. */
        const int first[] = {entering->proc, sockets < 0 ? entering->proc : sockets};
        char byte = 0;
        struct iovec data = {.iov_base = &byte, .iov_len = 1};
        struct msghdr message = {.msg_iov = &data,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = CMSG_SPACE(sizeof(first) + sizeof(int) * memories)};
        control.head = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                                        .cmsg_type = SCM_RIGHTS,
                                        .cmsg_len = CMSG_LEN(sizeof(first) + sizeof(int) * memories)};
        memcpy(CMSG_DATA(&control.head), first, sizeof(first));
        memcpy(CMSG_DATA(&control.head) + sizeof(first), entering->memories + FIRST, sizeof(int) * memories);
        if (sendmsg(entering->watchdog, &message, MSG_NOSIGNAL) < 0)
                entering_fail(entering, STAGE_LIMIT, errno, "memory");
        close_shown(entering);
}

unsigned limits_refused_calls(const struct limits *limits)
{
        return (limits->memory == LIMIT_WATCHDOG ? SECCOMP_NO_UNSEEN : 0U) |
               (limits->processors == LIMIT_AFFINITY ? SECCOMP_NO_AFFINITY : 0U);
}

void limits_set_open_files(const struct entering *entering)
{
        struct rlimit limit;
        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                entering_fail(entering, STAGE_LIMIT, errno, "nofile");
        if (limit.rlim_cur > entering->box->open_files)
                limit.rlim_cur = entering->box->open_files;
        if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
                entering_fail(entering, STAGE_LIMIT, errno, "nofile");
}
