/* SPDX-License-Identifier: Apache-2.0
 *
 * Entering the sandbox's cgroup and its cgroup namespace. enforce/cgroup.h makes the cgroup.
 */
#ifndef HUTCH_NS_CGROUP_ENTRY_H
#define HUTCH_NS_CGROUP_ENTRY_H

#include "ns/entering.h"

/* Enters entering->group, where the clone could not start in it. */
void cgroup_entry_join(const struct entering *entering);

/* Waits until the supervisor has told what the cgroup holds, settles the limits by it, and makes the cgroup
 * namespace. */
void cgroup_entry_await(struct entering *entering);

#endif
