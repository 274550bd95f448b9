/* SPDX-License-Identifier: Apache-2.0
 *
 * The limits that the kernel has for processes without a cgroup: resource limits, pid_max and the set of
 * processors. They must only ever lower what the caller has.
 */
#ifndef HUTCH_NS_RLIMITS_H
#define HUTCH_NS_RLIMITS_H

#include "ns/entering.h"

/* Sets the resource limits, pid_max where each pid namespace has one, and the processors. */
void rlimits_set(const struct entering *entering);

/* Gives the server the caller's soft limit of open files. Call it when no source of a grant is open any more.
 */
void rlimits_set_open_files(const struct entering *entering);

#endif
