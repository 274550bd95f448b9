/* SPDX-License-Identifier: Apache-2.0
 *
 * The watchdog over memory, where no cgroup limits it: pid 1 of the sandbox measures what the sandbox holds
 * (memory_use.h) again and again, and ends the sandbox at the limit. The less room is left, the sooner it
 * looks again. Between two looks the sandbox can take more than its limit. Nothing inside can stop, kill or
 * trace pid 1, and the argument filter refuses to slow it down (seccomp/arguments.c).
 */
#ifndef HUTCH_NS_MEMORY_WATCH_H
#define HUTCH_NS_MEMORY_WATCH_H

#include "ns/control.h"
#include "ns/entering.h"
#include "ns/memory_use.h"

enum { MEMORY_WATCH_FIRST_MS = 20 }; /* from the start to the first look; a short run is spared it */

/* Raises the sandbox's oom_score_adj. The sandbox can hold memory that the watchdog does not see. When that
 * makes the machine's memory scarce, the kernel is to end the sandbox before the user's programs. Call it
 * before the process becomes non-dumpable. A failure is ignored: this enforces no limit. */
void memory_watch_raise_oom_score(const struct entering *entering);

/* What is known between two looks. Zero it to begin. */
struct memory_watch {
        unsigned over; /* looks in a row that found the sandbox over its limit */
        bool reported_pids, reported_disk;
};

/* Judges one measurement: which report to make (CONTROL_MEMORY, _PIDS, _DISK or _NONE), and in *wait how many
 * milliseconds to wait before the next look (-1: none follows). `worked_us` is the processor time of this
 * look in microseconds. Several reports of one look come by calling again with the same measurement until
 * CONTROL_NONE. */
enum control_type memory_watch_judge(struct memory_watch *watch, const struct memory_use *use,
                                     const struct limits *limits, uint64_t worked_us, int *wait);

#endif
