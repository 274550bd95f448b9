/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of one flow, once both of its ends are there. Each end is a connected, non-blocking socket in the
 * loop and sends what it gets at once. Nothing is looked at; half-closes are passed on; a slow end makes the
 * kernel's window slow down the other.
 */
#ifndef HUTCH_NAT_RELAY_H
#define HUTCH_NAT_RELAY_H

#include "nat/loop.h"

#include <sys/epoll.h>

struct relay_end {
        struct source source;
        bool sole;         /* no other process has a copy of the socket */
        bool input_ended;  /* it will send nothing more */
        bool output_ended; /* it was told that nothing more comes */
        uint8_t *pending;  /* what it has not taken yet, owned; NULL when nothing */
        size_t pending_from, pending_to;
        uint64_t taken; /* bytes that it has sent to the nat */
};

/* The events of an end that may have something to read. With the hang-up asked for, its last bytes and its
 * end are taken in one turn. */
enum { RELAY_INPUT = EPOLLIN | EPOLLRDHUP };

enum relay_result {
        RELAY_GOES_ON,
        RELAY_ENDED,  /* both directions have ended */
        RELAY_BROKEN, /* an end was reset or the like: errno says how */
};

/* Makes the pipe that bytes pass through. False, with errno, when the kernel refuses. */
bool relay_prepare(void);

/* Moves what there is for the events of one end (0: what was pushed), and sets what to wait for next. */
enum relay_result relay_move(struct relay_end *end, struct relay_end *other, uint32_t events);

/* Bytes of flows that wait in this process's memory, all flows together. A sandbox that opens thousands of
 * flows and reads from none must not be able to take the machine's memory: holding fails when the bound is
 * reached, which ends the flow that asked. */
bool relay_hold(size_t bytes);
void relay_release(size_t bytes);

/* Gives an end bytes that something else has read for it. False when memory is out. */
bool relay_push(struct relay_end *end, const uint8_t *bytes, size_t length);

/* Closes an end. `reset`: its peer sees a reset instead of an orderly end. */
void relay_close(struct relay_end *end, bool reset);

#endif
