/* SPDX-License-Identifier: Apache-2.0
 *
 * How much memory a sandbox holds, measured without a cgroup: by its processes as its own /proc shows them,
 * by its file systems in memory, and by the buffers of its pipes and sockets (buffers.h). The sandbox shapes
 * all that is read. So this module reads only numbers from lines that the kernel wrote, and believes no name
 * in them. Kernel memory that none of these files shows, such as file locks and inotify watches, is not
 * counted.
 */
#ifndef HUTCH_ENFORCE_MEMORY_USE_H
#define HUTCH_ENFORCE_MEMORY_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MEMORY_USE_FILE_SYSTEMS_MAX = 200 };

/* What is measured. The descriptors belong to the caller. */
struct memory_use_sources {
        int proc;      /* a directory: /proc of the sandbox */
        int sock_diag; /* a NETLINK_SOCK_DIAG socket of its network namespace, or -1 */
        int file_systems[MEMORY_USE_FILE_SYSTEMS_MAX];
        size_t file_system_count;
};

struct memory_use {
        uint64_t bytes;
        unsigned tasks; /* processes and threads, pid 1 included */
        bool disk_full; /* one of the file systems has no free block or no free inode */
};

enum memory_use_result {
        MEMORY_USE_KNOWN,
        MEMORY_USE_ENDED,  /* no process is left: pid 1 of the sandbox has exited */
        MEMORY_USE_UNKNOWN /* a file could not be read, or it took more than two seconds of processor time */
};

/* Measures. Takes the expensive exact numbers only where a rough sum is over `limit`. */
enum memory_use_result memory_use_measure(const struct memory_use_sources *sources, uint64_t limit,
                                          struct memory_use *use);

/* The processor time that this process has used. */
double memory_use_cpu_seconds(void);

struct statfs;

/* Adds what a memory file system holds: its blocks, and kernel memory for its inodes. */
void memory_use_add_file_system(const struct statfs *status, struct memory_use *use);

/* The bytes that /proc/PID/status shows. All zero for a process that has exited. */
struct memory_use_process {
        uint64_t anonymous; /* private, swap included; pages that fork(2) shares count in each process */
        uint64_t tables;    /* page tables and huge pages */
        uint64_t space;     /* address space; 0 also when only the first thread has exited */
        unsigned threads;
        unsigned open_files; /* an upper bound */
};
void memory_use_parse_status(const char *text, struct memory_use_process *process);

/* Parses /proc/PID/smaps_rollup: the private memory of a process, swap included, where pages shared by
 * fork(2) are divided among those that share them. False when the text has no such numbers. */
bool memory_use_parse_rollup(const char *text, uint64_t *anonymous);

/* Parses /proc/PID/stat: when the process began, in clock ticks since boot. UINT64_MAX when the text is not
 * of that form. */
uint64_t memory_use_parse_start(const char *text);

/* Parses a line of /proc/PID/maps. True when it is memory that processes share without a file; sets its size
 * and the number that identifies it. */
bool memory_use_parse_shared(const char *line, uint64_t *bytes, uint64_t *number);

#endif
