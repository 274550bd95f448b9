/* SPDX-License-Identifier: Apache-2.0
 *
 * The watchdog: a process outside the sandbox that measures how much memory the sandbox holds (memory_use.h)
 * where no cgroup limits it, and reports to the supervisor, which ends the sandbox. Between two looks the
 * sandbox can take more than its limit. The supervisor cannot measure itself, because its system call filter
 * refuses to open files.
 */
#ifndef HUTCH_ENFORCE_WATCHDOG_H
#define HUTCH_ENFORCE_WATCHDOG_H

#include "limits/limits.h"

#include <sys/types.h>

struct watchdog {
        int sandbox_end; /* pid 1 sends through it what is to be measured (ns/memory_watch.c); or -1 */
        int sources_end; /* its other end, which the process inherits from watchdog_start(); or -1 */
        int control;     /* the supervisor's end, readable when there is a report; or -1 */
        pid_t process;   /* 0: none */
};
#define WATCHDOG_NONE                                                                                        \
        (struct watchdog)                                                                                    \
        {                                                                                                    \
                .sandbox_end = -1, .sources_end = -1, .control = -1                                          \
        }

enum watchdog_event {
        WATCHDOG_EVENT_NONE,
        WATCHDOG_EVENT_MEMORY, /* over --memory; the value is the sum in bytes */
        WATCHDOG_EVENT_BLIND,  /* it could not measure, so the limit no longer holds */
        WATCHDOG_EVENT_PIDS,   /* --pids is used up; the value is the count; reported once */
        WATCHDOG_EVENT_DISK,   /* a memory file system is full; reported once */
        WATCHDOG_EVENT_GONE,   /* the process has exited */
};

/* One message on the control socket. */
struct watchdog_report {
        uint32_t event;
        uint32_t unused;
        uint64_t value;
};

/* Before the launch: makes the socket pair for pid 1. 0, or a negative errno. */
int watchdog_prepare(struct watchdog *watchdog);

/* Starts the process. Call from the main thread, after the command was executed and before the supervisor
 * loads its filter. 0, or a negative errno. */
int watchdog_start(struct watchdog *watchdog, const struct limits *limits);

/* Reads one report; *value is set with an event that has one. */
enum watchdog_event watchdog_read(struct watchdog *watchdog, uint64_t *value);

/* Kills the process, waits for it and closes everything. */
void watchdog_end(struct watchdog *watchdog);

/* What the process knows between two looks. Zero it to begin. */
struct watchdog_history {
        unsigned over; /* looks in a row that found the sandbox over its limit */
        bool reported_pids, reported_disk;
};

struct memory_use;

/* Judges one measurement: which event to report, and in *wait how many milliseconds to wait before the next
 * look (-1: none follows). `worked_us` is the processor time of this look in microseconds. Several events of
 * one look come by calling again with the same measurement until WATCHDOG_EVENT_NONE. */
enum watchdog_event watchdog_judge(struct watchdog_history *history, const struct memory_use *use,
                                   const struct limits *limits, uint64_t worked_us, int *wait);

#endif
