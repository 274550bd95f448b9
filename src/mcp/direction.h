/* SPDX-License-Identifier: Apache-2.0
 *
 * One direction of the filter: bytes in, lines judged, bytes out. What it keeps is bounded by the longest
 * message; a longer line is counted through and forgotten.
 */
#ifndef HUTCH_MCP_DIRECTION_H
#define HUTCH_MCP_DIRECTION_H

#include "lib/endpoint.h"
#include "mcp/firewall.h"

#include <poll.h>

#include <stdbool.h>
#include <stddef.h>

enum { DIRECTION_ROOM = 128 * 1024, DIRECTION_KEPT = 512 };

struct direction {
        struct firewall *firewall;
        enum side from;
        struct endpoint in, out; /* fd -1: closed */
        bool hung_up;            /* its writer has: what is left is all there will be */
        bool done;               /* both are closed */

        char *bytes;
        size_t room;
        size_t passing, passed; /* bytes[passed..passing): judged lines that are still to be written */
        size_t line, searched,
            used; /* bytes[line..used): not judged; before `searched` there is no LF in them */

        bool skipping; /* in a line that is too long: head and tail are all that is kept */
        size_t head_length, tail_length;
        char head[DIRECTION_KEPT], tail[DIRECTION_KEPT];
};

/* Takes both endpoints over. Ends that are missing are noticed by direction_open(), once the supervisor
 * listens.
 */
void direction_begin(struct direction *direction, struct firewall *firewall, enum side from,
                     struct endpoint in, struct endpoint out);
void direction_open(struct direction *direction);

/* What it waits for now: `in` and `out`, or -1 in their places. */
enum { DIRECTION_POLLS = 2 };
void direction_poll(const struct direction *direction, struct pollfd polls[DIRECTION_POLLS]);

/* Reads and judges what poll() has reported of these; writes what can be written, whatever it reported.
 * Neither blocks. */
void direction_read(struct direction *direction, const struct pollfd polls[DIRECTION_POLLS]);
void direction_write(struct direction *direction);

#endif
