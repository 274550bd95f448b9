/* SPDX-License-Identifier: Apache-2.0
 *
 * One direction of the filter: bytes in, lines judged, bytes out. What it keeps is bounded by the longest
 * message; a longer line is counted through and forgotten.
 */
#ifndef HUTCH_MCP_LANE_H
#define HUTCH_MCP_LANE_H

#include "mcp/firewall.h"

#include <stdbool.h>
#include <stddef.h>

enum { LANE_ROOM = 128 * 1024, LANE_KEPT = 512 };

struct lane {
        struct firewall *firewall;
        enum side from;
        int in, out; /* -1: closed */

        char *bytes;
        size_t room;
        size_t passing, passed; /* bytes[passed..passing): judged lines that are still to be written */
        size_t line, searched,
            used; /* bytes[line..used): not judged; before `searched` there is no LF in them */

        bool skipping; /* in a line that is too long: head and tail are all that is kept */
        size_t head_length, tail_length;
        char head[LANE_KEPT], tail[LANE_KEPT];
};

void lane_begin(struct lane *lane, struct firewall *firewall, enum side from, int in, int out);

/* Whether it has something to write to `out`, with the filter's own lines for that side. */
bool lane_wants_to_write(const struct lane *lane);

/* Whether it takes more bytes now: not before what it has is written, nor while an answer is stuck. */
bool lane_wants_to_read(const struct lane *lane);

/* Neither blocks. lane_write() may be called at any time, lane_read() when poll() says so. */
void lane_read(struct lane *lane);
void lane_write(struct lane *lane);

/* Nobody takes its bytes any more. */
void lane_lose_reader(struct lane *lane);

#endif
