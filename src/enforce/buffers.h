/* SPDX-License-Identifier: Apache-2.0
 *
 * How much memory a sandbox holds in the buffers of pipes and sockets, which belong to no process. Both are
 * cheap to bound and dear to count, so they are counted only where the bound would be too much. As in
 * memory_use.h all that is read is numbers that the kernel wrote.
 */
#ifndef HUTCH_ENFORCE_BUFFERS_H
#define HUTCH_ENFORCE_BUFFERS_H

#include <stdbool.h>
#include <stdint.h>

/* The most that so many open files may hold in pipes, whoever reads them. A user's first 64 MiB of pipes may
 * be larger than that; they are nobody's in particular and not counted. */
uint64_t buffers_most_in_pipes(uint64_t open_files);

/* Adds the pipes of one process that were in no other process before, and what its files take of the kernel
 * themselves. `is_new` says whether a number is seen for the first time. A process of which it cannot be told
 * counts for the most that its `open_files` may hold. */
void buffers_add_files(int proc, const char *process, unsigned open_files, bool (*is_new)(uint64_t number),
                       uint64_t *total);

/* The most that the sockets of a network namespace may hold, by /proc/PID/net/sockstat and sockstat6, where
 * one socket that is not of TCP may have `one` bytes. */
uint64_t buffers_most_in_sockets(const char *sockstat, const char *sockstat6, uint64_t one);

/* Adds what the sockets hold, by a socket of NETLINK_SOCK_DIAG in their network namespace. Kinds that the
 * kernel cannot list are left out. `one` as above. Ends early when *total is over `most`. */
void buffers_add_sockets(int diag, uint64_t one, uint64_t most, uint64_t *total);

#endif
