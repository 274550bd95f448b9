/* SPDX-License-Identifier: Apache-2.0
 *
 * See memory_use.h.
 *
 * Theory of operation. /proc/PID/status is cheap and can be read for every process, dumpable or not. Its sums
 * are never too low, but they count what a fork shares once per process. smaps_rollup divides what is shared
 * and is read only where the rough sum is over the limit; a process whose smaps_rollup cannot be read keeps
 * its rough number. Anonymous shared memory (MAP_SHARED | MAP_ANONYMOUS) leaves the numbers of a process when
 * the process unmaps its pages with MADV_DONTNEED or munmap(2), but the memory stays as long as one page of
 * it is mapped anywhere. So it is counted from maps, where each mapping counts for the largest object that
 * the system call filter permits.
 */
#include "enforce/memory_use.h"

#include "enforce/buffers.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "seccomp/arguments.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>

enum {
        TEXT_SIZE = 1 << 17, /* larger than a status file with the most supplementary groups */
        PROCESSES_MOST = 1 << 16,
        SHARED_SLOTS = 1 << 16, /* a power of two */
        SHARED_FULL = SHARED_SLOTS / 4 * 3,
        INODE_BYTES = 1024,                          /* kernel memory for each inode of a tmpfs */
        MAPPING_BYTES = 256,                         /* kernel memory for each mapping */
        SHARED_IN_PAGE = SECCOMP_SHARED_MOST / 4096, /* what one mapped page can keep alive */
        SECONDS_MOST = 2,
        SENT_MOST = 212992,     /* where wmem_max cannot be read */
        SOCKET_EXTRA = 1 << 16, /* the last message may exceed the bound by this much */
        YOUNG_MS = 300,         /* a vfork(2) child has executed by then; one that has not counts in full */
};

/* ---- parsing ---- */

/* The number after `key`, which begins with a newline so that it matches only at the start of a line; 0 when
 * there is no such line. */
static uint64_t find_number(const char *text, const char *key)
{
        const char *line = strstr(text, key);
        uint64_t value = 0;
        if (!line)
                return 0;
        for (line += strlen(key); *line == ' ' || *line == '\t';)
                line++;
        for (; *line >= '0' && *line <= '9' && value < UINT64_MAX / 20480; line++)
                value = value * 10 + (uint64_t)(*line - '0');
        return value;
}

static uint64_t find_bytes(const char *text, const char *key)
{
        return find_number(text, key) * 1024;
}

void memory_use_parse_status(const char *text, struct memory_use_process *process)
{
        *process = (struct memory_use_process){
            .anonymous = find_bytes(text, "\nRssAnon:") + find_bytes(text, "\nVmSwap:"),
            .tables = find_bytes(text, "\nVmPTE:") + find_bytes(text, "\nHugetlbPages:"),
            .space = find_bytes(text, "\nVmSize:"),
            .threads = (unsigned)find_number(text, "\nThreads:"),
            .open_files = (unsigned)find_number(text, "\nFDSize:"),
        };
}

bool memory_use_parse_rollup(const char *text, uint64_t *anonymous)
{
        *anonymous = find_bytes(text, "\nPss_Anon:") + find_bytes(text, "\nSwapPss:");
        return strstr(text, "\nPss_Anon:") != NULL;
}

uint64_t memory_use_parse_start(const char *text)
{
        unsigned long long start;
        const char *name_end = strrchr(text, ')'); /* the name before it may contain anything */
        if (!name_end || sscanf(name_end + 1, "%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%llu",
                                &start) != 1)
                return UINT64_MAX;
        return start;
}

bool memory_use_parse_shared(const char *line, uint64_t *bytes, uint64_t *number)
{
        static const char mark[] = " /dev/zero (deleted)";
        unsigned long long start, end, inode;
        char rights[5];
        size_t length = strlen(line);
        if (length < sizeof(mark) || strcmp(line + length - (sizeof(mark) - 1), mark) != 0 ||
            sscanf(line, "%llx-%llx %4s %*x %*x:%*x %llu", &start, &end, rights, &inode) != 4 ||
            rights[3] != 's' || end < start)
                return false;
        *bytes = end - start > SECCOMP_SHARED_MOST ? end - start : SECCOMP_SHARED_MOST;
        *number = inode;
        return true;
}

/* ---- reading ---- */

struct entry {
        char name[12]; /* the process id as text */
        struct memory_use_process use;
        bool has_twin; /* another process has the same numbers: both may be one memory */
};

static struct {
        struct entry processes[PROCESSES_MOST];
        size_t count;
        uint64_t shared[SHARED_SLOTS];
        size_t shared_count;
        char text[TEXT_SIZE];
} work;

/* Reads a file of a process into work.text. 0, or a negative errno; -ESRCH when the process has exited. */
static int read_file(int proc, const char *process, const char *name)
{
        char path[64];
        (void)snprintf(path, sizeof(path), "%s/%s", process, name);
        work.text[0] = 0;
        autoclose int file = openat(proc, path, O_RDONLY | O_CLOEXEC);
        if (file < 0)
                return errno == ENOENT ? -ESRCH : -errno;
        ssize_t got = 1;
        for (size_t length = 0; got > 0 && length < TEXT_SIZE - 1; length += (size_t)got) {
                got = read(file, work.text + length, TEXT_SIZE - 1 - length);
                if (got < 0)
                        return -errno;
                work.text[length + (size_t)got] = 0;
        }
        return 0;
}

/* ---- measuring ---- */

double memory_use_cpu_seconds(void)
{
        struct timespec used;
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

/* Appends the process ids among these entries. False when there are more than fit. */
static bool list_processes(const char *entries, size_t length)
{
        for (size_t at = 0; at < length;) {
                const struct dirent64 *entry = (const void *)(entries + at);
                at += entry->d_reclen;
                size_t digits = strspn(entry->d_name, "0123456789");
                if (entry->d_name[digits] || digits >= sizeof(work.processes->name))
                        continue;
                if (work.count == PROCESSES_MOST)
                        return false;
                memcpy(work.processes[work.count++].name, entry->d_name, digits + 1);
        }
        return true;
}

static bool find_processes(int proc)
{
        _Alignas(struct dirent64) char entries[16384];
        ssize_t length;
        work.count = 0;
        if (lseek(proc, 0, SEEK_SET) < 0)
                return false;
        while ((length = syscall(SYS_getdents64, proc, entries, sizeof(entries))) > 0)
                if (!list_processes(entries, (size_t)length))
                        return false;
        return length == 0;
}

void memory_use_add_file_system(const struct statfs *status, struct memory_use *use)
{
        use->bytes += (status->f_blocks - status->f_bfree) * (uint64_t)status->f_bsize +
                      (status->f_files - status->f_ffree) * INODE_BYTES;
        use->disk_full |= status->f_bfree == 0 || status->f_ffree == 0;
}

static void add_file_systems(const struct memory_use_sources *sources, struct memory_use *use)
{
        for (size_t i = 0; i < sources->file_system_count; i++) {
                struct statfs status;
                if (fstatfs(sources->file_systems[i], &status) == 0)
                        memory_use_add_file_system(&status, use);
        }
}

static void forget_numbers(void)
{
        if (work.shared_count > 0)
                memset(work.shared, 0, sizeof(work.shared));
        work.shared_count = 0;
}

/* True the first time that a number comes in this pass, and always once the table is full. */
static bool is_new(uint64_t number)
{
        size_t slot = (size_t)(number * 0x9e3779b97f4a7c15ULL >> 32) & (SHARED_SLOTS - 1);
        if (work.shared_count == SHARED_FULL)
                return true;
        for (; work.shared[slot]; slot = (slot + 1) & (SHARED_SLOTS - 1))
                if (work.shared[slot] == number)
                        return false;
        work.shared[slot] = number;
        work.shared_count++;
        return true;
}

/* Counts the whole lines of a part of maps. Returns how many bytes they were. */
static size_t add_mappings(char *text, uint64_t *total)
{
        char *line = text;
        for (char *end; (end = strchr(line, '\n')); line = end + 1) {
                uint64_t bytes, number;
                *end = 0;
                *total += MAPPING_BYTES;
                if (memory_use_parse_shared(line, &bytes, &number) && is_new(number))
                        *total += bytes;
        }
        return (size_t)(line - text);
}

/* Adds the shared memory of one process and the kernel memory of its mappings. Ends early once *total is over
 * `most`. */
static void add_maps(int proc, const char *process, uint64_t most, uint64_t *total)
{
        char path[64];
        (void)snprintf(path, sizeof(path), "%s/maps", process);
        autoclose int file = openat(proc, path, O_RDONLY | O_CLOEXEC);
        size_t kept = 0;
        while (file >= 0 && *total <= most) {
                ssize_t got = read(file, work.text + kept, TEXT_SIZE - 1 - kept);
                if (got <= 0)
                        return;
                work.text[kept + (size_t)got] = 0;
                size_t used = add_mappings(work.text, total);
                kept += (size_t)got - used;
                memmove(work.text, work.text + used, kept);
        }
}

/* A process whose first thread has exited shows no memory, although its other threads still have it. Looks
 * for such a thread and measures the process through it from here on. */
static void find_living_thread(int proc, struct entry *entry)
{
        _Alignas(struct dirent64) char entries[4096];
        char path[64];
        ssize_t length;
        (void)snprintf(path, sizeof(path), "%s/task", entry->name);
        autoclose int directory = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        while (directory >= 0 && (length = syscall(SYS_getdents64, directory, entries, sizeof(entries))) > 0)
                for (ssize_t at = 0; at < length;) {
                        const struct dirent64 *thread = (const void *)(entries + at);
                        struct memory_use_process use;
                        at += thread->d_reclen;
                        if (thread->d_name[0] == '.' || strlen(thread->d_name) >= sizeof(entry->name))
                                continue;
                        (void)read_file(proc, thread->d_name, "status");
                        memory_use_parse_status(work.text, &use);
                        if (use.space == 0)
                                continue;
                        entry->use = use;
                        memcpy(entry->name, thread->d_name, strlen(thread->d_name) + 1);
                        return;
                }
}

static uint64_t rough_sum(const struct memory_use_process *use)
{
        return use->anonymous + use->tables;
}

static int compare_sums(const void *a, const void *b)
{
        const struct entry *first = a, *second = b;
        uint64_t x = rough_sum(&first->use), y = rough_sum(&second->use);
        return x > y ? -1 : x < y;
}

/* Puts the largest first, so that processes with the same sum are neighbours, and marks the pairs with the
 * same numbers. */
static void sort_processes(void)
{
        if (work.count > 1)
                qsort(work.processes, work.count, sizeof(*work.processes), compare_sums);
        for (size_t i = 0; i < work.count; i++)
                for (size_t j = i + 1; j < work.count; j++) {
                        struct memory_use_process *own = &work.processes[i].use,
                                                  *other = &work.processes[j].use;
                        if (rough_sum(own) != rough_sum(other))
                                break;
                        if (own->space != other->space || own->tables != other->tables)
                                continue;
                        work.processes[i].has_twin = work.processes[j].has_twin = true;
                        break;
                }
}

static bool is_young(int proc, const char *process)
{
        struct timespec now;
        uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);
        if (read_file(proc, process, "stat") < 0 || clock_gettime(CLOCK_BOOTTIME, &now) < 0)
                return false;
        uint64_t started = memory_use_parse_start(work.text);
        uint64_t ticked = (uint64_t)now.tv_sec * ticks + (uint64_t)now.tv_nsec * ticks / 1000000000;
        return started <= ticked && (ticked - started) * 1000 / ticks < YOUNG_MS;
}

/* Replaces the rough sum of the processes by exact numbers. A child of vfork(2) has its parent's memory until
 * it executes its program, and the kernel shows that memory for both. So the younger of two processes with
 * the same numbers counts only once it is older than YOUNG_MS. Ends with the process that brings the sum over
 * the limit, because a storm of processes leaves little processor time for each look. */
static void look_closely(const struct memory_use_sources *sources, uint64_t rough, uint64_t limit,
                         struct memory_use *use)
{
        uint64_t sum = use->bytes - rough;
        sort_processes();
        for (size_t i = 0; i < work.count && sum <= limit; i++) {
                struct entry *entry = &work.processes[i];
                uint64_t anonymous = entry->use.anonymous, exactly;
                int failed = read_file(sources->proc, entry->name, "smaps_rollup");
                if (failed == 0 && memory_use_parse_rollup(work.text, &exactly))
                        anonymous = exactly;
                if (failed != -ESRCH && !(entry->has_twin && is_young(sources->proc, entry->name)))
                        sum += anonymous + entry->use.tables;
        }
        use->bytes = sum;
}

/* Sockets come first: they can hold more and are counted faster. */
static void add_buffers(const struct memory_use_sources *sources, uint64_t limit, uint64_t open_files,
                        struct memory_use *use)
{
        static char sockstat[1024];
        (void)read_file(sources->proc, "sys", "net/core/wmem_max");
        uint64_t sent_most = strtoull(work.text, NULL, 10);
        uint64_t socket_max = 2 * (sent_most ? sent_most : SENT_MOST) + SOCKET_EXTRA;
        (void)read_file(sources->proc, "1", "net/sockstat");
        (void)snprintf(sockstat, sizeof(sockstat), "%.1000s", work.text);
        (void)read_file(sources->proc, "1", "net/sockstat6");
        if (sources->sock_diag >= 0 &&
            use->bytes + buffers_socket_bound(sockstat, work.text, socket_max) > limit)
                buffers_add_sockets(sources->sock_diag, socket_max, limit, &use->bytes);
        if (use->bytes + buffers_pipe_bound(open_files) <= limit)
                return;
        forget_numbers();
        for (size_t i = 0; i < work.count && use->bytes <= limit; i++) {
                const struct entry *entry = &work.processes[i];
                if (!str_equal(entry->name, "1")) /* pid 1 is hutch's own and not readable */
                        buffers_add_files(sources->proc, entry->name, entry->use.open_files, is_new,
                                          &use->bytes);
        }
}

enum memory_use_result memory_use_measure(const struct memory_use_sources *sources, uint64_t limit,
                                          struct memory_use *use)
{
        double began = memory_use_cpu_seconds();
        uint64_t rough = 0, space = 0, open_files = 0;
        *use = (struct memory_use){0};
        add_file_systems(sources, use);
        if (!find_processes(sources->proc))
                return MEMORY_USE_UNKNOWN;
        if (work.count == 0)
                return MEMORY_USE_ENDED;
        for (size_t i = 0; i < work.count; i++) {
                struct entry *entry = &work.processes[i];
                (void)read_file(sources->proc, entry->name, "status");
                memory_use_parse_status(work.text, &entry->use);
                entry->has_twin = false;
                if (entry->use.space == 0 && entry->use.threads > 1)
                        find_living_thread(sources->proc, entry);
                rough += rough_sum(&entry->use);
                space += entry->use.space;
                open_files += entry->use.open_files;
                use->tasks += entry->use.threads;
        }
        use->bytes += rough;
        if (use->bytes + space * SHARED_IN_PAGE > limit) {
                forget_numbers();
                uint64_t base = use->bytes - rough;
                for (size_t i = 0; i < work.count && base <= limit; i++) {
                        add_maps(sources->proc, work.processes[i].name, limit, &base);
                        if (memory_use_cpu_seconds() - began > SECONDS_MOST)
                                return MEMORY_USE_UNKNOWN;
                }
                use->bytes = base + rough;
        }
        if (use->bytes > limit)
                look_closely(sources, rough, limit, use);
        if (use->bytes <= limit)
                add_buffers(sources, limit, open_files, use);
        return memory_use_cpu_seconds() - began <= SECONDS_MOST ? MEMORY_USE_KNOWN : MEMORY_USE_UNKNOWN;
}
