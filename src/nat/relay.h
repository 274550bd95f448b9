/* SPDX-License-Identifier: Apache-2.0
 *
 * Relays the bytes of a flow between its two ends. Each end is a connected, non-blocking socket in the loop
 * that sends its bytes at once. The bytes are not inspected, half-closes are passed on, and a slow end slows
 * the other down through the kernel's window.
 */
#ifndef HUTCH_NAT_RELAY_H
#define HUTCH_NAT_RELAY_H

#include "nat/loop.h"

#include <sys/epoll.h>

struct relay_end {
        struct source source;
        bool sole;         /* no other process has a copy of the socket */
        bool input_ended;  /* it will send nothing more */
        bool output_ended; /* its output was shut down */
        uint8_t *pending;  /* bytes that it has not accepted, owned; NULL: none */
        size_t pending_from, pending_to;
        uint64_t taken; /* bytes that it has sent to hutch-nat */
};

/* The events of an end that may have something to read. Because they include the hang-up, its last bytes and
 * its end are handled in one turn. */
enum { RELAY_INPUT = EPOLLIN | EPOLLRDHUP };

enum relay_result {
        RELAY_GOES_ON,
        RELAY_ENDED,  /* both directions have ended */
        RELAY_BROKEN, /* an end is broken, for example reset; errno says why */
};

/* Makes the pipe for splice(2). False, with errno, when the kernel refuses. */
bool relay_prepare(void);

/* Moves what the events of one end allow (0: pushed bytes), and sets the events to wait for next. */
enum relay_result relay_move(struct relay_end *end, struct relay_end *other, uint32_t events);

/* Count the bytes that wait in the memory of this process for all flows together. A sandbox that opens
 * thousands of flows and reads from none must not exhaust the machine's memory: relay_hold() returns false at
 * the bound, and the flow that needed the bytes ends. */
bool relay_hold(size_t bytes);
void relay_release(size_t bytes);

/* Adds bytes that another module has read for an end. False when memory is out. */
bool relay_push(struct relay_end *end, const uint8_t *bytes, size_t length);

/* Closes an end. With `reset` its peer sees a reset instead of an orderly end. */
void relay_close(struct relay_end *end, bool reset);

#endif
