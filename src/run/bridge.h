/* SPDX-License-Identifier: Apache-2.0
 *
 * The bridge copies bytes between the client's descriptors 0, 1, 2 and three new pipes of the server, inside
 * the supervisor's poll() loop. It must never block, and never change the client's descriptors: the client
 * shares their open file descriptions, so O_NONBLOCK or shutdown() would reach the client. bridge.c has the
 * theory of operation.
 */
#ifndef HUTCH_RUN_BRIDGE_H
#define HUTCH_RUN_BRIDGE_H

#include "lib/err.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

enum { BRIDGE_POLL_MAX = 8 };

struct bridge;

/* Makes the three pipes. server[0..2] receive the server's ends, which are close-on-exec and the caller's.
 * With `lines`, every line of the server's stdout is judged, and a line that cannot be a message goes to
 * stderr with a label. A descriptor of the client that cannot be used in its direction counts as an ended
 * input, a client that is gone, or a stderr that nobody reads. The caller makes sure that 0, 1 and 2 are
 * open, because otherwise the pipes could get these numbers, and that SIGPIPE is ignored. A descriptor in
 * `passed` (a terminal) goes to the server directly: it gets no pipe, server[] stays -1, and it counts as
 * ended. NULL with *error set on failure. */
struct bridge *bridge_new(bool lines, const bool passed[3], int server[3], struct error *error);

/* Fills in `polls` (capacity BRIDGE_POLL_MAX) and returns how many entries. The first *quiet of them do not
 * change while messages pass. Call before each poll(), because the set depends on what is buffered; so an
 * idle bridge never spins. */
size_t bridge_poll(struct bridge *bridge, struct pollfd *polls, size_t *quiet);

/* Moves what poll() reported on the entries that the last bridge_poll() filled in. Never blocks. */
void bridge_move(struct bridge *bridge, const struct pollfd *polls, size_t count);

/* How far the bytes between client and server are; hutch-filter reports the same in the bridge's place. */
struct bytes_state {
        /* End of file, hang-up or error on 0. The bridge closes the server's stdin once the server has taken
         * what was read. A server that takes nothing cannot hide the end. */
        bool input_ended;
        /* The client takes no more output: there was an error on 1. The bridge has closed the server's
         * stdout, so that the server gets SIGPIPE as it would without hutch. */
        bool client_gone;
        /* After the server has exited: all that it wrote to stdout and stderr was read and handed to the
         * client, or can no longer be. */
        bool drained;
        unsigned long long given; /* grows while the server takes input, and so still works on it */
        unsigned long long taken; /* grows while the client takes stdout or stderr */
};
struct bytes_state bridge_state(const struct bridge *bridge);

/* A message_sink: queues one of hutch's own lines for stderr, or counts it as dropped when the queue is full.
 */
void bridge_say(void *bridge, const char *line, size_t length);

/* Tries once more, without blocking, to write hutch's own lines; closes its descriptors and frees. */
void bridge_free(struct bridge *bridge);

#endif
