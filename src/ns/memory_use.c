/* SPDX-License-Identifier: Apache-2.0
 *
 * See memory_use.h.
 *
 * Theory of operation. /proc/PID/status is cheap and can be read for every process, dumpable or not. Its sums
 * are never too low, but they count what processes share once per process. smaps_rollup divides what is
 * shared and is read only where the rough sum is over the limit. A child of vfork(2) has its parent's memory
 * until it executes its program, and the kernel shows that memory for both. kcmp(2) tells which processes are
 * one memory; it compares those with the same address space only, because comparing all pairs takes too long.
 *
 * Who may read. smaps_rollup and kcmp() ask for the right to read by ptrace: the same user and group ids,
 * which all of the sandbox has, a dumpable target, and no capability that the reader lacks. Yama restricts
 * attaching only, and Landlock only a reader in a domain, which pid 1 is not. Pid 1 owns the user namespaces
 * that are made inside, so it may read what is in them too. A process that is not dumpable, by prctl(2) or
 * because it may not read its own program, shows its smaps_rollup to nobody here and keeps its rough number.
 * So hiding makes a process count for more and never for less.
 *
 * What can go wrong. A process that exits while it is counted is ESRCH or ENOENT, and counts for nothing.
 * Every other error, such as a full table of descriptors, fails the measurement: a limit that is not measured
 * does not hold. The work is bounded by the number of processes and, over the limit, by processor time,
 * because smaps_rollup takes as long as a process has mappings. Nothing is allocated, because the filter of
 * pid 1 permits no mmap(2) and no brk(2); qsort(3) then sorts in place.
 */
#include "ns/memory_use.h"

#include "lib/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>

enum {
        TEXT_SIZE = 1 << 17, /* a status file with some ten thousand supplementary groups */
        PROCESSES_MOST = 1 << 16,
        INODE_BYTES = 1024, /* kernel memory for each inode of a tmpfs */
        CPU_US_MOST = 2000000,
        COMPARED_MOST = 16, /* processes with the same address space that one is compared with */
};

/* ---- parsing ---- */

/* The number after `key`, which begins with a newline so that it matches only at the start of a line; 0 when
 * there is no such line. The kernel writes a newline in the name of a process as "\n". Without strtoull(),
 * whose pages of the C library pid 1 would keep for this alone. */
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
            .pages = find_bytes(text, "\nRssAnon:") + find_bytes(text, "\nRssShmem:") +
                     find_bytes(text, "\nVmSwap:"),
            .tables = find_bytes(text, "\nVmPTE:") + find_bytes(text, "\nHugetlbPages:"),
            .space = find_bytes(text, "\nVmSize:"),
            .threads = (unsigned)find_number(text, "\nThreads:"),
        };
}

bool memory_use_parse_rollup(const char *text, uint64_t *pages)
{
        *pages = find_bytes(text, "\nPss_Anon:") + find_bytes(text, "\nPss_Shmem:") +
                 find_bytes(text, "\nSwapPss:");
        return strstr(text, "\nPss_Anon:") != NULL;
}

uint64_t memory_use_parse_segment(const char *line)
{
        enum { RESIDENT = 14, SWAPPED }; /* places in the line, from 0 */
        uint64_t bytes = 0;
        for (unsigned place = 0; place <= SWAPPED; place++) {
                line += strspn(line, " ");
                size_t digits = strspn(line, "0123456789");
                if (digits == 0)
                        return 0;
                if (place >= RESIDENT)
                        bytes += strtoull(line, NULL, 10);
                line += digits;
        }
        return bytes;
}

/* ---- reading ---- */

enum { PATH_SIZE = 32 }; /* a process id and the longest name of a file */

struct entry {
        char name[12]; /* the process id as text, or that of a living thread */
        struct memory_use_process use;
};

static struct {
        int proc; /* memory_use_sources.proc */
        struct entry processes[PROCESSES_MOST];
        size_t count;
        char text[TEXT_SIZE];
} work;

/* Writes PROCESS/NAME. Without printf(), whose pages pid 1 would keep for this alone. */
static void join_path(char path[PATH_SIZE], const char *process, const char *name)
{
        char *end = mempcpy(path, process, strlen(process));
        *end++ = '/';
        memcpy(end, name, strlen(name) + 1);
}

/* Reads a file of a process into work.text. 0, or a negative errno; -ESRCH when the process has exited. */
static int read_file(const char *process, const char *name)
{
        char path[PATH_SIZE];
        join_path(path, process, name);
        work.text[0] = 0;
        autoclose int file = openat(work.proc, path, O_RDONLY | O_CLOEXEC);
        if (file < 0)
                return errno == ENOENT ? -ESRCH : -errno;
        for (size_t length = 0; length < TEXT_SIZE - 1;) {
                ssize_t got = read(file, work.text + length, TEXT_SIZE - 1 - length);
                if (got <= 0)
                        return got < 0 ? -errno : 0;
                length += (size_t)got;
                work.text[length] = 0;
        }
        return -EFBIG;
}

/* ---- measuring ---- */

uint64_t memory_use_cpu_us(void)
{
        struct timespec used;
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}

/* Calls visit() for each entry of /proc/PATH that is as short as a number, until it returns false. False then
 * too, and when the directory cannot be read. */
static bool visit_entries(const char *path, bool (*visit)(struct entry *entry, const char *name),
                          struct entry *entry)
{
        _Alignas(struct dirent64) char entries[16384];
        ssize_t length;
        autoclose int directory = openat(work.proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (directory < 0)
                return false;
        while ((length = syscall(SYS_getdents64, directory, entries, sizeof(entries))) > 0)
                for (ssize_t at = 0; at < length;) {
                        const struct dirent64 *next = (const void *)(entries + at);
                        at += next->d_reclen;
                        if (strlen(next->d_name) < sizeof(entry->name) && !visit(entry, next->d_name))
                                return false;
                }
        return length == 0;
}

/* Appends a process, whose name is a number. False when there are more than fit. */
static bool add_process(struct entry *unused, const char *name)
{
        (void)unused;
        if (name[strspn(name, "0123456789")])
                return true;
        if (work.count == PROCESSES_MOST)
                return false;
        memcpy(work.processes[work.count++].name, name, strlen(name) + 1);
        return true;
}

void memory_use_add_file_system(const struct statfs *status, struct memory_use *use)
{
        use->bytes += (status->f_blocks - status->f_bfree) * (uint64_t)status->f_bsize +
                      (status->f_files - status->f_ffree) * INODE_BYTES;
        use->disk_full |= status->f_bfree == 0 || status->f_ffree == 0;
}

static bool add_file_systems(const struct memory_use_sources *sources, struct memory_use *use)
{
        for (size_t i = 0; i < sources->file_system_count; i++) {
                struct statfs status;
                if (fstatfs(sources->file_systems[i], &status) < 0)
                        return false;
                memory_use_add_file_system(&status, use);
        }
        return true;
}

/* Adds System V memory, attached or not. There can be more segments than work.text has room for. A kernel
 * without System V memory has no such file. */
static bool add_system_v(uint64_t *total)
{
        size_t kept = 0;
        autoclose int file = openat(work.proc, "sysvipc/shm", O_RDONLY | O_CLOEXEC);
        if (file < 0)
                return errno == ENOENT;
        for (ssize_t got; (got = read(file, work.text + kept, TEXT_SIZE - 1 - kept)) != 0;) {
                if (got < 0)
                        return false;
                kept += (size_t)got;
                work.text[kept] = 0;
                char *line = work.text;
                for (char *end; (end = strchr(line, '\n')); line = end + 1)
                        *total += memory_use_parse_segment(line);
                kept -= (size_t)(line - work.text);
                memmove(work.text, line, kept);
        }
        return true;
}

/* A process whose first thread has exited shows no memory, although its other threads still have it. When
 * this thread lives, measures the process through it from here on; false then. */
static bool pass_over_dead_thread(struct entry *entry, const char *name)
{
        struct memory_use_process use;
        if (name[0] == '.')
                return true;
        (void)read_file(name, "status");
        memory_use_parse_status(work.text, &use);
        if (use.space == 0)
                return true;
        entry->use = use;
        memcpy(entry->name, name, strlen(name) + 1);
        return false;
}

/* False when a process that has not exited cannot be read. */
static bool read_process(struct entry *entry)
{
        char threads[PATH_SIZE];
        int failed = read_file(entry->name, "status");
        memory_use_parse_status(work.text, &entry->use);
        if (entry->use.space == 0 && entry->use.threads > 1) {
                join_path(threads, entry->name, "task");
                (void)visit_entries(threads, pass_over_dead_thread, entry);
        }
        return failed == 0 || failed == -ESRCH;
}

static uint64_t rough_sum(const struct memory_use_process *use)
{
        return use->pages + use->tables;
}

/* Sorts by address space, and by what is held where that is equal. So the processes of one memory come one
 * after another, unless one of its threads changed it between two readings. The address space changes least
 * often. The numbers are those that were read before, so the order is the same in every comparison, which
 * qsort(3) must be able to rely on. */
static int compare_processes(const void *a, const void *b)
{
        const struct memory_use_process *first = &((const struct entry *)a)->use,
                                        *second = &((const struct entry *)b)->use;
        if (first->space != second->space)
                return first->space > second->space ? -1 : 1;
        return rough_sum(first) > rough_sum(second) ? -1 : rough_sum(first) < rough_sum(second);
}

/* True when the process has the memory of one that comes before it in the order of compare_processes(). */
static bool is_counted(size_t index)
{
        const struct entry *own = &work.processes[index];
        for (size_t back = 1; back <= index && back <= COMPARED_MOST; back++) {
                const struct entry *other = own - back;
                if (other->use.space != own->use.space || own->use.space == 0)
                        return false;
                if (syscall(SYS_kcmp, strtol(own->name, NULL, 10), strtol(other->name, NULL, 10), KCMP_VM, 0,
                            0) == 0)
                        return true;
        }
        return false;
}

/* The exact memory of the processes. Ends with the one that brings it over `most`, because a storm of
 * processes leaves little processor time for each look, or once the time is over. */
static uint64_t look_closely(uint64_t most, uint64_t until_us)
{
        uint64_t sum = 0;
        qsort(work.processes, work.count, sizeof(*work.processes), compare_processes);
        for (size_t i = 0; i < work.count && sum <= most && memory_use_cpu_us() <= until_us; i++) {
                struct entry *entry = &work.processes[i];
                uint64_t exactly;
                if (is_counted(i))
                        continue;
                int failed = read_file(entry->name, "smaps_rollup");
                if (failed == 0 && memory_use_parse_rollup(work.text, &exactly))
                        entry->use.pages = exactly;
                if (failed != -ESRCH)
                        sum += rough_sum(&entry->use);
        }
        return sum;
}

bool memory_use_measure(const struct memory_use_sources *sources, uint64_t limit, struct memory_use *use)
{
        uint64_t until_us = memory_use_cpu_us() + CPU_US_MOST, rough = 0;
        *use = (struct memory_use){0};
        work.proc = sources->proc;
        work.count = 0;
        if (!add_file_systems(sources, use) || !add_system_v(&use->bytes) ||
            !visit_entries(".", add_process, NULL) || work.count == 0) /* pid 1 sees itself at least */
                return false;
        for (size_t i = 0; i < work.count; i++) {
                if (!read_process(&work.processes[i]))
                        return false;
                rough += rough_sum(&work.processes[i].use);
                use->tasks += work.processes[i].use.threads;
        }
        if (use->bytes <= limit && use->bytes + rough > limit)
                rough = look_closely(limit - use->bytes, until_us);
        use->bytes += rough;
        return memory_use_cpu_us() <= until_us;
}
