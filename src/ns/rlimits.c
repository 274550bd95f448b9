/* SPDX-License-Identifier: Apache-2.0
 *
 * See rlimits.h.
 */
#include "ns/rlimits.h"

#include "lib/fd.h"
#include "ns/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>

enum { OWN_PROCESSES = 1 }; /* hutch's processes inside: pid 1 */

/* The kernel does not give out pids below 300 again once the numbers wrap. */
enum { RESERVED_PIDS = 300 };

static void lower(const struct entering *entering, __rlimit_resource_t resource, rlim_t most,
                  const char *name)
{
        struct rlimit limit;
        entering_check(entering, STAGE_LIMIT, name, getrlimit(resource, &limit));
        if (limit.rlim_max > most)
                limit.rlim_max = most;
        /* The sources of grants are still open; rlimits_set_open_files() sets the server's soft limit. */
        if (resource == RLIMIT_NOFILE || limit.rlim_cur > limit.rlim_max)
                limit.rlim_cur = limit.rlim_max;
        entering_check(entering, STAGE_LIMIT, name, setrlimit(resource, &limit));
}

/* RLIMIT_DATA of one process. Under the watchdog it is twice the limit: the watchdog is to end a process that
 * holds too much, with a sentence, before an allocation of it fails. What RLIMIT_DATA then stops is a single
 * allocation that is too large for the watchdog to see in time. */
static rlim_t data_limit(const struct limits *limits)
{
        rlim_t most;
        if (limits->memory != LIMIT_WATCHDOG || __builtin_mul_overflow(limits->memory_bytes, 2, &most))
                return limits->memory_bytes;
        return most;
}

/* Limits the pids of the new pid namespace, where each namespace has a pid_max. */
static void set_pid_max(const struct entering *entering)
{
        /* Without these namespaces the file is the machine's. */
        if (!layer_enabled(LAYER_PID) || !layer_enabled(LAYER_USER) || !limits_pid_max_is_own())
                return;
        char text[32];
        (void)snprintf(text, sizeof(text), "%u", entering->limits.pids + OWN_PROCESSES + RESERVED_PIDS);
        int error = fd_write_file(AT_FDCWD, "/proc/sys/kernel/pid_max", text);
        if (error < 0)
                entering_fail(entering, STAGE_LIMIT, -error, "pid_max");
}

/* Restricts the process to as many of the caller's processors as --cpus says. Sandboxes begin at different
 * ones, so that they do not all share the first. */
static void limit_processors(const struct entering *entering)
{
        enum { PROCESSORS_MOST = 8192 };
        static unsigned char had[PROCESSORS_MOST / 8], left[PROCESSORS_MOST / 8];
        unsigned wanted = entering->limits.cpus / LIMITS_CPUS_WHOLE;
        cpu_set_t *mask = (cpu_set_t *)had, *chosen = (cpu_set_t *)left;
        entering_check(entering, STAGE_LIMIT, "cpus", sched_getaffinity(0, sizeof(had), mask));
        int count = CPU_COUNT_S(sizeof(had), mask);
        if (wanted >= (unsigned)count)
                return;
        unsigned skipped = (unsigned)entering->spread % (unsigned)count;
        for (size_t cpu = 0; wanted; cpu = (cpu + 1) % PROCESSORS_MOST) {
                if (!CPU_ISSET_S(cpu, sizeof(had), mask))
                        continue;
                if (skipped) {
                        skipped--;
                } else {
                        CPU_SET_S(cpu, sizeof(left), chosen);
                        wanted--;
                }
        }
        entering_check(entering, STAGE_LIMIT, "cpus", sched_setaffinity(0, sizeof(left), chosen));
}

void rlimits_set(const struct entering *entering)
{
        if (!layer_enabled(LAYER_LIMITS))
                return;
        const struct limits *asked = &entering->limits;
        static const struct {
                __rlimit_resource_t resource;
                rlim_t most;
                const char *name;
        } limits[] = {
            {RLIMIT_CORE, 0, "core"}, /* no dump of secrets, and no helper that core_pattern names */
            {RLIMIT_NOFILE, 4096, "nofile"},
            {RLIMIT_SIGPENDING, 4096, "sigpending"}, /* the kernel counts these per user, not per sandbox: */
            {RLIMIT_MSGQUEUE, 65536, "msgqueue"},    /* without a limit one sandbox could use them up */
            {RLIMIT_MEMLOCK, 65536, "memlock"},
            {RLIMIT_RTPRIO, 0, "rtprio"},
        };

        for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
                lower(entering, limits[i].resource, limits[i].most, limits[i].name);
        if (asked->processes == LIMIT_RLIMIT || asked->processes == LIMIT_PID_MAX) {
                /* The kernel counts RLIMIT_NPROC per user namespace, so each sandbox has its own budget. */
                lower(entering, RLIMIT_NPROC, asked->pids + OWN_PROCESSES, "nproc");
                set_pid_max(entering);
        }
        if (asked->memory != LIMIT_CGROUP)
                lower(entering, RLIMIT_DATA, data_limit(asked), "data");
        if (asked->processors == LIMIT_AFFINITY)
                limit_processors(entering);
}

void rlimits_set_open_files(const struct entering *entering)
{
        struct rlimit limit;
        entering_check(entering, STAGE_LIMIT, "nofile", getrlimit(RLIMIT_NOFILE, &limit));
        if (limit.rlim_cur > entering->box->open_files)
                limit.rlim_cur = entering->box->open_files;
        entering_check(entering, STAGE_LIMIT, "nofile", setrlimit(RLIMIT_NOFILE, &limit));
}
