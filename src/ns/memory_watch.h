/* SPDX-License-Identifier: Apache-2.0
 *
 * What the sandbox does for the watchdog over memory (enforce/watchdog.h), which measures it from outside
 * where no cgroup bounds memory. Nothing inside can stop the watchdog.
 */
#ifndef HUTCH_NS_MEMORY_WATCH_H
#define HUTCH_NS_MEMORY_WATCH_H

#include "ns/entering.h"

/* Raises the sandbox's oom_score_adj. The sandbox can hold memory that the watchdog does not see. When that
 * makes the machine's memory scarce, the kernel is to end the sandbox before the user's programs. Call it
 * before the process becomes non-dumpable. A failure is ignored: this enforces no limit. */
void memory_watch_raise_oom_score(const struct entering *entering);

/* Covers devices that give memory which the watchdog does not see. Call it before userns_set_budgets(): it
 * clones a mount. */
void memory_watch_hide_devices(const struct entering *entering);

/* Sends the watchdog the descriptors that it measures: /proc, a netlink socket and the memory file systems.
 */
void memory_watch_send(struct entering *entering);

#endif
