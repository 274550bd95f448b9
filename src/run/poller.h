/* SPDX-License-Identifier: Apache-2.0
 *
 * poll() for a loop that mostly waits for two descriptors out of a dozen: the others are remembered by an
 * epoll descriptor, so that a message does not pay for looking at each of them.
 */
#ifndef HUTCH_RUN_POLLER_H
#define HUTCH_RUN_POLLER_H

#include <poll.h>
#include <stddef.h>

enum { POLLER_QUIET_MAX = 16, POLLER_BUSY_MAX = 8 };

/* Zero it to begin: it then is poll() itself. */
struct poller {
        int epoll; /* 0: none */
        struct pollfd quiet[POLLER_QUIET_MAX];
        size_t count;
};

/* From now on the quiet ones are remembered. The caller must not open anything any more: the number of a
 * descriptor that it closes has to stay unused. Without memory or the kernel's help nothing changes. */
void poller_begin(struct poller *poller);

/* poll() on polls[0..count), of which the first `quiet` are hardly ever ready and hardly ever change. */
int poller_wait(struct poller *poller, struct pollfd *polls, size_t quiet, size_t count, int timeout);

/* Forgets them: it is poll() again. */
void poller_end(struct poller *poller);

#endif
