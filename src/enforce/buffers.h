/* SPDX-License-Identifier: Apache-2.0
 *
 * How much kernel memory a sandbox holds in the buffers of pipes and sockets, which belong to no process. An
 * upper bound is cheap to compute and an exact count is expensive, so memory_use.c counts only where the
 * bound would exceed the limit. As in memory_use.h, only numbers that the kernel wrote are read.
 */
#ifndef HUTCH_ENFORCE_BUFFERS_H
#define HUTCH_ENFORCE_BUFFERS_H

#include <stdbool.h>
#include <stdint.h>

/* The most bytes that so many open files can hold in pipes, whoever reads them. The first 64 MiB of a user's
 * pipes may be larger than that; they cannot be attributed to one sandbox and are not counted. */
uint64_t buffers_pipe_bound(uint64_t open_files);

/* Adds to *total the pipes of one process that `is_new` has not seen in another, and what the kernel needs
 * for the open files themselves. A process whose descriptors cannot be listed counts for the bound of its
 * `open_files`. */
void buffers_add_files(int proc, const char *process, unsigned open_files, bool (*is_new)(uint64_t number),
                       uint64_t *total);

/* The most bytes that the sockets of a network namespace can hold. The texts are those of
 * /proc/PID/net/sockstat and sockstat6; `socket_max` is the bound of one socket that is not TCP. */
uint64_t buffers_socket_bound(const char *sockstat, const char *sockstat6, uint64_t socket_max);

/* Adds to *total what the sockets hold, by a NETLINK_SOCK_DIAG socket of their network namespace. Leaves out
 * kinds that the kernel cannot list. Ends early once *total is over `limit`. */
void buffers_add_sockets(int diag, uint64_t socket_max, uint64_t limit, uint64_t *total);

#endif
