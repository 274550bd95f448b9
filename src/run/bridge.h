/* SPDX-License-Identifier: Apache-2.0
 *
 * The bridge: bytes between the client's descriptors 0, 1, 2 and the server's fresh pipes. It runs inside the
 * supervisor's poll loop, never blocks it, and never changes the client's descriptors: no O_NONBLOCK on 0, 1,
 * 2 and no shutdown, because the client shares their open file descriptions.
 *
 * Theory of operation: in bridge.c.
 */
#ifndef HUTCH_RUN_BRIDGE_H
#define HUTCH_RUN_BRIDGE_H

#include "lib/err.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

enum { BRIDGE_POLL_MAX = 8 };

struct bridge;

/* Makes the three pipes. `server[0..2]` receives the server's ends (O_CLOEXEC; the caller closes them once
 * the server has them). `lines`: judge the server's stdout line by line and move what cannot be a message to
 * stderr, labelled. A descriptor that is not usable in its direction counts as an ended input, a client that
 * is gone, a stderr that nobody reads; but 0, 1, 2 should be open, or the pipes may land there. SIGPIPE must
 * be ignored. What is `passed` goes to the server without the bridge (a terminal): no pipe is made for it,
 * server[] stays -1 there, and it counts as ended. NULL with *error set on failure. */
struct bridge *bridge_new(bool lines, const bool passed[3], int server[3], struct error *error);

/* Fills `polls` (capacity BRIDGE_POLL_MAX) with what the bridge waits for now; returns how many. The first
 * *quiet of them stay as they are while messages come and go. Call before each poll(): the set changes with
 * what is buffered, so that an idle bridge never spins. */
size_t bridge_poll(struct bridge *bridge, struct pollfd *polls, size_t *quiet);

/* Moves what poll() reported on the set that the last bridge_poll() filled. Never blocks. */
void bridge_move(struct bridge *bridge, const struct pollfd *polls, size_t count);

/* The client's input has ended: end of file, hang-up or error on 0. The server's stdin is closed as soon as
 * it has taken what was read; a server that takes nothing cannot hide the end. */
bool bridge_input_ended(const struct bridge *bridge);

/* Bytes of input that the server took since the start: while they grow, it is still at work on it. */
unsigned long long bridge_bytes_given(const struct bridge *bridge);

/* The client will take no more output: an error on 1. The server's stdout is closed then, so that it gets
 * SIGPIPE as it would without hutch. */
bool bridge_client_gone(const struct bridge *bridge);

/* After the server ended: everything it wrote to stdout and stderr has been read to the end and handed to the
 * client (or can no longer be). */
bool bridge_drained(const struct bridge *bridge);

/* Bytes the client took of stdout and stderr since the start: two equal readings two seconds apart mean that
 * it takes nothing. */
unsigned long long bridge_bytes_taken(const struct bridge *bridge);

/* Queues one line of hutch's own for stderr; counts it as dropped when the queue is full. A message_sink. */
void bridge_say(void *bridge, const char *line, size_t length);

/* Ends: a last attempt (never blocking) to flush hutch's own lines, closes everything of its own, frees. */
void bridge_free(struct bridge *bridge);

#endif
