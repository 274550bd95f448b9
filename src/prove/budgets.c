/* SPDX-License-Identifier: Apache-2.0
 *
 * Attempts to take so much of what the machine shares out that others have none left. Outside, at most a
 * small part is taken, for a moment. Storms of processes and memory are run nowhere: whether something bounds
 * them is read.
 */
#include "prove/prove.h"

#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/resource.h>

/* A user has 128 of them on most machines; this many is more than a sandbox may take. */
enum { INSTANCES = 40 };

static enum outcome inotify(const struct attempt *attempt)
{
        int made = 0;
        while (made < attempt->number && inotify_init1(IN_CLOEXEC) >= 0)
                made++;
        return out_if(made == attempt->number);
}

/* The budget of watches of this user namespace, or of the user. */
static enum outcome watches(const struct attempt *attempt)
{
        char text[32] = "";
        autoclose int fd = open(attempt->text, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
                return NOT_APPLICABLE;
        return out_if(strtol(text, NULL, 10) > attempt->number);
}

/* Whether the bound can be raised to more than a sandbox has. */
static enum outcome raise_limit(const struct attempt *attempt)
{
        int resource = (int)(attempt->number >> 32);
        rlim_t wanted = (rlim_t)attempt->number & 0xffffffff;
        struct rlimit limit;
        if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
                return HELD;
        if (limit.rlim_max < wanted)
                limit.rlim_max = wanted;
        limit.rlim_cur = wanted;
        return out_if(setrlimit((__rlimit_resource_t)resource, &limit) == 0);
}
#define LIMIT(resource, most) (((long)(resource) << 32) | ((most) + 1L))

/* A file of /proc that holds a bound of the sandbox's own, when it is below `number`. */
static enum outcome storm(const struct attempt *attempt)
{
        char text[32] = "";
        autoclose int fd = attempt->text ? open(attempt->text, O_RDONLY | O_CLOEXEC) : -1;
        if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && strtol(text, NULL, 10) < attempt->number)
                return HELD;
        return NOT_LIMITED;
}

/* What the kernel counts for all processes of a user, wherever they are, and for which no namespace has a
 * bound of its own: descriptors on their way through sockets (as many as one process may have open), and what
 * epoll watches (times all its processes). `number`: as many as leave others enough. */
static enum outcome shared_count(const struct attempt *attempt)
{
        struct rlimit limit;
        return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max <= (rlim_t)attempt->number
                   ? HELD
                   : NOT_LIMITED;
}

static enum outcome memory_storm(const struct attempt *attempt)
{
        struct rlimit limit;
        (void)attempt;
        bool bounded = getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
        return bounded ? HELD : NOT_LIMITED;
}

static const struct attempt rows[] = {
    {"inotify-instances", "your programs' file watching", SHOW_AS_CALLER, inotify, NULL, INSTANCES},
    {"inotify-watches", "the same by watches", SHOW_AS_CALLER, watches, "/proc/sys/user/max_inotify_watches",
     16384},
    {"open-files", "the machine's descriptors", SHOW_AS_CALLER, raise_limit, NULL,
     LIMIT(RLIMIT_NOFILE, 4096)},
    {"locked-memory", "memory that cannot be moved", SHOW_AS_CALLER, raise_limit, NULL,
     LIMIT(RLIMIT_MEMLOCK, 65536)},
    {"queued-signals", "your programs' signals", SHOW_AS_CALLER, raise_limit, NULL,
     LIMIT(RLIMIT_SIGPENDING, 4096)},
    {"queue-bytes", "your programs' queues", SHOW_AS_CALLER, raise_limit, NULL,
     LIMIT(RLIMIT_MSGQUEUE, 65536)},
    {"core-dump", "a dump of its memory on your disk", SHOW_AS_CALLER, raise_limit, NULL,
     LIMIT(RLIMIT_CORE, 0)},
    {"descriptors-sent", "your programs' passing of descriptors", SHOW_NEVER, shared_count, NULL, 512},
    {"epoll-watches", "your programs' waiting for events", SHOW_NEVER, shared_count, NULL, 0},
    {"fork-storm", "all processes of the machine", SHOW_NEVER, storm, "/proc/sys/kernel/pid_max", 8192},
    {"memory-storm", "all memory of the machine", SHOW_NEVER, memory_storm, NULL, 0},
    {"processor-storm", "all processors of the machine", SHOW_NEVER, storm, NULL, 0},
};
const struct attempt_group budgets_group = ATTEMPT_GROUP("budgets", rows);
