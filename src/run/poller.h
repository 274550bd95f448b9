/* SPDX-License-Identifier: Apache-2.0
 *
 * poll() for a loop that waits for two busy descriptors out of a dozen. An epoll descriptor remembers the
 * quiet ones, so that a message does not pay for looking at each of them.
 */
#ifndef HUTCH_RUN_POLLER_H
#define HUTCH_RUN_POLLER_H

#include <poll.h>
#include <stddef.h>

enum { POLLER_QUIET_MAX = 16, POLLER_BUSY_MAX = 8 };

/* All zero, it behaves like poll(). */
struct poller {
        int epoll; /* 0: none */
        struct pollfd quiet[POLLER_QUIET_MAX];
        size_t count;
};

/* Begins to remember the quiet descriptors. After this the caller must not open a descriptor, because it
 * could get the number of one that was closed. When epoll is not available, nothing changes. */
void poller_begin(struct poller *poller);

/* poll() on polls[0..count), of which the first `quiet` are rarely ready and rarely change. */
int poller_wait(struct poller *poller, struct pollfd *polls, size_t quiet, size_t count, int timeout);

/* Stops remembering, and behaves like poll() again. */
void poller_end(struct poller *poller);

#endif
