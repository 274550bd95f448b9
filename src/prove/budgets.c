/* SPDX-License-Identifier: Apache-2.0
 *
 * Attempts to use up what the machine shares among its users. Outside, an attempt takes a small part for a
 * moment: idle threads, and memory that it does not touch.
 */
#include "prove/attempts.h"

#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* Most machines give a user 128 inotify instances; hutch gives a sandbox fewer than this. */
enum { INSTANCES = 40 };

static enum outcome inotify(void)
{
        int made = 0;
        while (made < attempt->number && inotify_init1(IN_CLOEXEC) >= 0)
                made++;
        return out_if(made == attempt->number);
}

/* Compares the budget of inotify watches, of this user namespace or of the user, with what a sandbox has. */
static enum outcome watches(void)
{
        char text[32] = "";
        autoclose int fd = open(attempt->text, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
                return NOT_APPLICABLE;
        return out_if(strtol(text, NULL, 10) > attempt->number);
}

/* Raises a resource limit to more than a sandbox has. */
static enum outcome raise_limit(void)
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
#define RAISE(resource, most) raise_limit, NULL, ((long)(resource) << 32) | ((most) + 1L)

/* A thread that waits until the attempt's process is killed. */
static int stay(void *unused)
{
        (void)unused;
        while (pause() < 0)
                ;
        return 0;
}

/* Things that the kernel counts for all processes of a user, in whatever namespace: descriptors in flight
 * through sockets (one process may send as many as it may have open), and files that epoll watches (for all
 * processes together). `number`: an amount that leaves enough to others. */
static enum outcome shared_count(void)
{
        struct rlimit limit;
        return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max <= (rlim_t)attempt->number
                   ? HELD
                   : NOT_LIMITED;
}

/* Starts `number` threads, which end with the attempt. */
static enum outcome fork_storm(void)
{
        enum { STACK = 16384 };
        static char *stacks; /* the threads use them until the process ends */
        stacks = malloc((size_t)attempt->number * STACK);
        for (long i = 0; stacks && i < attempt->number; i++)
                if (clone(stay, stacks + (i + 1) * STACK,
                          CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
                          NULL) < 0)
                        return errno == EAGAIN ? HELD : NOT_APPLICABLE;
        return out_if(stacks != NULL);
}

/* Keeps a page in a pipe, where it belongs to no process. */
static enum outcome buffered_memory(void)
{
        int ends[2];
        return out_if(pipe2(ends, O_CLOEXEC) == 0 && write(ends[1], "x", 1) == 1);
}

/* Keeps shared memory that its page table no longer shows. */
static enum outcome unmapped_memory(void)
{
        size_t size = (size_t)attempt->number;
        char *kept = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (kept == MAP_FAILED)
                return HELD;
        *kept = 'x';
        bool keeps = madvise(kept, size, MADV_DONTNEED) == 0 && *kept == 'x';
        (void)munmap(kept, size);
        return out_if(keeps);
}

/* Looks whether the process may use every processor. */
static enum outcome processor_storm(void)
{
        static unsigned char all[1024], may[1024];
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        memset(all, 0xff, sizeof(all));
        (void)sched_setaffinity(0, sizeof(all), (const cpu_set_t *)all);
        if (online < 2 || sched_getaffinity(0, sizeof(may), (cpu_set_t *)may) < 0)
                return NOT_APPLICABLE;
        return out_if(CPU_COUNT_S(sizeof(may), (const cpu_set_t *)may) >= online);
}

/* More than any sandbox may have. It is mapped, and not touched. */
#define MEMORY (1L << 38)

static const struct attempt rows[] = {
    {"inotify-instances", "your programs' file watches", AS_CALLER, inotify, NULL, INSTANCES},
    {"inotify-watches", "the same by watches", AS_CALLER, watches, "/proc/sys/user/max_inotify_watches",
     16384},
    {"open-files", "the machine's descriptors", AS_CALLER, RAISE(RLIMIT_NOFILE, 4096)},
    {"locked-memory", "memory that cannot be swapped", AS_CALLER, RAISE(RLIMIT_MEMLOCK, 65536)},
    {"queued-signals", "your programs' signals", AS_CALLER, RAISE(RLIMIT_SIGPENDING, 4096)},
    {"queue-bytes", "your programs' queues", AS_CALLER, RAISE(RLIMIT_MSGQUEUE, 65536)},
    {"core-dump", "a dump of its memory on your disk", AS_CALLER, RAISE(RLIMIT_CORE, 0)},
    {"descriptors-sent", "your programs' passing of descriptors", NOT_SHOWN, shared_count, NULL, 512},
    {"epoll-watches", "your programs' waiting for events", NOT_SHOWN, shared_count},
    {"fork-storm", "all processes of the machine", AS_CALLER, fork_storm, NULL, 2048},
    {"memory-storm", "all memory of the machine", AS_CALLER,
     CALL(SYS_mmap, 0, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)},
    {"buffered-memory", "the machine's memory, by pipes and sockets", AS_CALLER, buffered_memory},
    {"unmapped-memory", "the machine's memory, shared and unmapped", AS_CALLER, unmapped_memory, NULL, 4096},
    {"processor-storm", "all processors of the machine", AS_CALLER, processor_storm},
};
const struct attempt_group budgets_group = ATTEMPT_GROUP("budgets", rows);
