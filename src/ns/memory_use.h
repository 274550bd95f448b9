/* SPDX-License-Identifier: Apache-2.0
 *
 * How much memory a sandbox holds, measured by its pid 1 where no cgroup limits it: by its processes as its
 * own /proc shows them, its file systems in memory and its System V memory. The sandbox shapes all that is
 * read. So this module reads only numbers from lines that the kernel wrote, and believes no name in them.
 * Memory that none of these shows is not counted: buffers of pipes and sockets, shared memory that is in no
 * process's page tables, and the kernel's own records.
 */
#ifndef HUTCH_NS_MEMORY_USE_H
#define HUTCH_NS_MEMORY_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is measured. The descriptors belong to the caller. */
struct memory_use_sources {
        int proc; /* the directory /proc of the sandbox, as it shows every process */
        const int *file_systems;
        size_t file_system_count;
};

struct memory_use {
        uint64_t bytes;
        unsigned tasks; /* processes and threads, pid 1 included */
        bool disk_full; /* one of the file systems has no free block or no free inode */
};

/* Measures. Takes the expensive exact numbers only where a rough sum is over `limit`. False when something
 * could not be read, or when it took more than two seconds of processor time. Allocates nothing. */
bool memory_use_measure(const struct memory_use_sources *sources, uint64_t limit, struct memory_use *use);

/* The processor time that this process has used, in microseconds. */
uint64_t memory_use_cpu_us(void);

struct statfs;

/* Adds what a memory file system holds: its blocks, and kernel memory for its inodes. */
void memory_use_add_file_system(const struct statfs *status, struct memory_use *use);

/* The bytes that /proc/PID/status shows. All zero for a process that has exited. */
struct memory_use_process {
        uint64_t pages;  /* private and shared memory without a file on a disk, and swap; pages that fork(2)
                          * shares count in each process */
        uint64_t tables; /* page tables and huge pages */
        uint64_t space;  /* address space; 0 also when only the first thread has exited */
        unsigned threads;
};
void memory_use_parse_status(const char *text, struct memory_use_process *process);

/* Parses /proc/PID/smaps_rollup: the same pages, where those that several processes have are divided among
 * them. False when the text has no such numbers. */
bool memory_use_parse_rollup(const char *text, uint64_t *pages);

/* Parses a line of /proc/sysvipc/shm: the bytes of the segment in memory and in swap. 0 for the heading. */
uint64_t memory_use_parse_segment(const char *line);

#endif
