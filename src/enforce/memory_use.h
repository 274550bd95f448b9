/* SPDX-License-Identifier: Apache-2.0
 *
 * How much memory a sandbox holds, without control groups: from its processes as its own /proc shows them,
 * from its file systems in memory, and from the buffers of its pipes and sockets (buffers.h). Everything that
 * is read was shaped by the sandbox: it is numbers in lines that the kernel wrote, and no name in them is
 * believed. What nothing of that shows, the kernel's own records of locks and watches, is not counted.
 */
#ifndef HUTCH_ENFORCE_MEMORY_USE_H
#define HUTCH_ENFORCE_MEMORY_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MEASURE_MEMORIES_MOST = 200 };

/* What is looked at; the descriptors are the owner's. */
struct measured_places {
        int proc;    /* the sandbox's proc, opened as a directory */
        int sockets; /* of NETLINK_SOCK_DIAG, in its network namespace; -1: there is none */
        int memories[MEASURE_MEMORIES_MOST];
        size_t memory_count;
};

struct memory_use {
        uint64_t memory; /* bytes */
        unsigned tasks;  /* processes and threads, pid 1 included */
        bool disk_full;  /* one of the file systems has no room, or no inode */
};

enum measured {
        MEASURED,
        MEASURED_ENDED,  /* no process is left: the sandbox's pid 1 has ended */
        MEASURED_NOTHING /* it could not be done within two seconds of processor time, or at all */
};

/* Measures. Looks closely, which takes longer, only where a rough sum is over `limit`. */
enum measured memory_use_measure(const struct measured_places *places, uint64_t limit,
                                 struct memory_use *use);

/* Processor time that this process has used. */
double memory_use_seconds_used(void);

/* What /proc/PID/status says; bytes. Zero for a process that has ended. */
struct process_use {
        uint64_t anonymous; /* of its own, swap included; shared copies of a fork count fully */
        uint64_t tables;    /* page tables, and pages of the huge kind */
        uint64_t space;     /* addresses in use; 0 also when only its first thread has ended */
        unsigned threads;
        unsigned open_files; /* at most */
};
void memory_use_read_status(const char *text, struct process_use *process);

/* What /proc/PID/smaps_rollup says: the process's own memory, swap included, shared copies divided among
 * those who share them. False when it is no such text. */
bool memory_use_read_rollup(const char *text, uint64_t *anonymous);

/* What /proc/PID/stat says: when the process began, in clock ticks since boot; UINT64_MAX when it is no such
 * text. */
uint64_t memory_use_read_start(const char *text);

/* A line of /proc/PID/maps: true when it is memory that processes share without a file; then its size and a
 * number of its own. */
bool memory_use_read_shared(const char *line, uint64_t *bytes, uint64_t *number);

#endif
