/* SPDX-License-Identifier: Apache-2.0
 *
 * See measure.h.
 *
 * Theory of operation. /proc/PID/status is cheap and may be read of every process, dumpable or not; its sums
 * are never too low, but count what a fork shares twice. Only when they are over the limit, smaps_rollup is
 * read, which divides what is shared; a process of which it cannot be read keeps its rough number. Shared
 * memory without a name (MAP_SHARED | MAP_ANONYMOUS) leaves a process's numbers when its pages are unmapped
 * by MADV_DONTNEED, and stays: it is counted by its whole size, from maps, as soon as the processes have
 * addresses enough to hide something.
 */
#include "run/measure.h"

#include "lib/fd.h"
#include "lib/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>

enum {
        TEXT_SIZE = 1 << 17, /* a status of the most groups is smaller */
        PROCESSES_MOST = 8192,
        SHARED_SLOTS = 1 << 14, /* a power of two */
        INODE_BYTES = 1024,     /* of the kernel's memory, for each in a tmpfs */
        MAPPING_BYTES = 256,    /* the same for each mapping */
        SECONDS_MOST = 2,
        YOUNG_MS = 300, /* vfork(2) has ended by then, and who shares memory for longer pays for it twice */
};

/* ---- texts ---- */

/* The number behind a key at the beginning of a line, in its unit; 0 when there is no such line. */
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

void measure_read_status(const char *text, struct process_use *process)
{
        *process = (struct process_use){
            .anonymous = find_bytes(text, "\nRssAnon:") + find_bytes(text, "\nVmSwap:"),
            .tables = find_bytes(text, "\nVmPTE:") + find_bytes(text, "\nHugetlbPages:"),
            .space = find_bytes(text, "\nVmSize:"),
            .threads = (unsigned)find_number(text, "\nThreads:"),
        };
}

bool measure_read_rollup(const char *text, uint64_t *anonymous)
{
        *anonymous = find_bytes(text, "\nPss_Anon:") + find_bytes(text, "\nSwapPss:");
        return strstr(text, "\nPss_Anon:") != NULL;
}

uint64_t measure_read_start(const char *text)
{
        unsigned long long start;
        const char *name_end = strrchr(text, ')'); /* the name may hold anything */
        if (!name_end || sscanf(name_end + 1, "%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%llu",
                                &start) != 1)
                return UINT64_MAX;
        return start;
}

bool measure_read_shared(const char *line, uint64_t *bytes, uint64_t *number)
{
        static const char mark[] = " /dev/zero (deleted)";
        unsigned long long start, end, inode;
        char rights[5];
        size_t length = strlen(line);
        if (length < sizeof(mark) || strcmp(line + length - (sizeof(mark) - 1), mark) != 0 ||
            sscanf(line, "%llx-%llx %4s %*x %*x:%*x %llu", &start, &end, rights, &inode) != 4 ||
            rights[3] != 's' || end < start)
                return false;
        *bytes = end - start;
        *number = inode;
        return true;
}

/* ---- files ---- */

struct entry {
        char name[12]; /* the number */
        struct process_use use;
};

static struct {
        struct entry processes[PROCESSES_MOST];
        size_t count;
        uint64_t shared[SHARED_SLOTS];
        char text[TEXT_SIZE];
} work;

/* Reads a file of a process into work.text: 0, or a negative errno; -ESRCH for a process that has ended. */
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

static double seconds_used(void)
{
        struct timespec used;
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static void list_processes(const char *entries, size_t length)
{
        for (size_t at = 0; at < length;) {
                const struct dirent64 *entry = (const void *)(entries + at);
                at += entry->d_reclen;
                size_t digits = strspn(entry->d_name, "0123456789");
                if (entry->d_name[digits] || digits >= sizeof(work.processes->name) ||
                    work.count == PROCESSES_MOST)
                        continue;
                memcpy(work.processes[work.count++].name, entry->d_name, digits + 1);
        }
}

static bool find_processes(int proc)
{
        _Alignas(struct dirent64) char entries[16384];
        ssize_t length;
        work.count = 0;
        if (lseek(proc, 0, SEEK_SET) < 0)
                return false;
        while ((length = syscall(SYS_getdents64, proc, entries, sizeof(entries))) > 0)
                list_processes(entries, (size_t)length);
        return length == 0;
}

static void add_file_systems(const struct measured_places *places, struct use *use)
{
        for (size_t i = 0; i < places->memory_count; i++) {
                struct statfs status;
                if (fstatfs(places->memories[i], &status) < 0)
                        continue;
                use->memory += (status.f_blocks - status.f_bfree) * (uint64_t)status.f_bsize +
                               (status.f_files - status.f_ffree) * INODE_BYTES;
                use->disk_full |= status.f_bfree == 0 || status.f_ffree == 0;
        }
}

/* True the first time that a number is seen in this pass, and where the table is full. */
static bool is_new(uint64_t number)
{
        size_t slot = (size_t)(number * 0x9e3779b97f4a7c15ULL >> 32) & (SHARED_SLOTS - 1);
        for (size_t tried = 0; tried < SHARED_SLOTS; tried++, slot = (slot + 1) & (SHARED_SLOTS - 1)) {
                if (work.shared[slot] == number)
                        return false;
                if (!work.shared[slot]) {
                        work.shared[slot] = number;
                        return true;
                }
        }
        return true;
}

/* The lines of a part of maps; returns how much of it was whole lines. */
static size_t add_mappings(char *text, uint64_t *total)
{
        char *line = text;
        for (char *end; (end = strchr(line, '\n')); line = end + 1) {
                uint64_t bytes, number;
                *end = 0;
                *total += MAPPING_BYTES;
                if (measure_read_shared(line, &bytes, &number) && is_new(number))
                        *total += bytes;
        }
        return (size_t)(line - text);
}

/* Adds the shared memory of one process and what its mappings take; ends early when that is over `most`. */
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

/* True when another process has the same numbers: it may be the same memory. */
static bool has_twin(size_t index)
{
        const struct process_use *own = &work.processes[index].use;
        for (size_t i = 0; i < work.count; i++) {
                const struct process_use *other = &work.processes[i].use;
                if (i != index && other->space == own->space && other->tables == own->tables &&
                    other->anonymous == own->anonymous)
                        return true;
        }
        return false;
}

static bool is_young(int proc, const char *process)
{
        struct timespec now;
        uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);
        if (read_file(proc, process, "stat") < 0 || clock_gettime(CLOCK_BOOTTIME, &now) < 0)
                return false;
        uint64_t started = measure_read_start(work.text);
        uint64_t ticked = (uint64_t)now.tv_sec * ticks + (uint64_t)now.tv_nsec * ticks / 1000000000;
        return started <= ticked && (ticked - started) * 1000 / ticks < YOUNG_MS;
}

/* Divides what is shared. `rough` is what the processes have been counted for so far. Until it executes its
 * program, a child of vfork(2) has its parent's memory, which the kernel shows for both: such a child, which
 * is the younger of two with the same numbers, counts only when it stays. */
static void look_closely(const struct measured_places *places, uint64_t rough, struct use *use)
{
        uint64_t sum = 0;
        for (size_t i = 0; i < work.count; i++) {
                struct entry *entry = &work.processes[i];
                uint64_t anonymous;
                int failed = read_file(places->proc, entry->name, "smaps_rollup");
                if (failed == 0 && measure_read_rollup(work.text, &anonymous))
                        entry->use.anonymous = anonymous;
                else if (failed == -ESRCH)
                        entry->use = (struct process_use){0};
        }
        for (size_t i = 0; i < work.count; i++)
                if (!has_twin(i) || !is_young(places->proc, work.processes[i].name))
                        sum += work.processes[i].use.anonymous + work.processes[i].use.tables;
        use->memory = use->memory - rough + sum;
}

enum measured measure_use(const struct measured_places *places, uint64_t limit, struct use *use)
{
        double began = seconds_used();
        uint64_t rough = 0, space = 0;
        *use = (struct use){0};
        add_file_systems(places, use);
        if (!find_processes(places->proc))
                return MEASURED_NOTHING;
        if (work.count == 0)
                return MEASURED_ENDED;
        for (size_t i = 0; i < work.count; i++) {
                struct entry *entry = &work.processes[i];
                (void)read_file(places->proc, entry->name, "status");
                measure_read_status(work.text, &entry->use);
                rough += entry->use.anonymous + entry->use.tables;
                space += entry->use.space;
                use->tasks += entry->use.threads;
        }
        use->memory += rough;
        if (use->memory + space > limit) {
                memset(work.shared, 0, sizeof(work.shared));
                uint64_t base = use->memory - rough;
                for (size_t i = 0; i < work.count && base <= limit; i++) {
                        add_maps(places->proc, work.processes[i].name, limit, &base);
                        if (seconds_used() - began > SECONDS_MOST)
                                return MEASURED_NOTHING;
                }
                use->memory = base + rough;
        }
        if (use->memory > limit)
                look_closely(places, rough, use);
        return seconds_used() - began <= SECONDS_MOST ? MEASURED : MEASURED_NOTHING;
}
