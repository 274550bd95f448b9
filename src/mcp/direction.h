/* SPDX-License-Identifier: Apache-2.0
 *
 * One direction of the filter: reads bytes, judges lines, writes bytes. It buffers at most the longest
 * permitted message; of a longer line it keeps the first and last bytes only.
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
        bool hung_up;            /* the writer has hung up: no more will come than is there */
        bool done;               /* both are closed */

        char *bytes;
        size_t room;
        size_t passing, passed;      /* bytes[passed..passing): judged lines, not yet written */
        size_t line, searched, used; /* bytes[line..used): not yet judged, without an LF before `searched` */

        bool skipping; /* inside a line that is too long; only head and tail are kept */
        bool is_noise; /* that line is not a message */
        size_t head_length, tail_length;
        char head[DIRECTION_KEPT], tail[DIRECTION_KEPT];
};

/* Takes over both endpoints. direction_open() handles those that are missing, so call it when the supervisor
 * listens. */
void direction_begin(struct direction *direction, struct firewall *firewall, enum side from,
                     struct endpoint in, struct endpoint out);
void direction_open(struct direction *direction);

/* What to poll for: `in` and `out`; fd -1 where there is nothing to wait for. */
enum { DIRECTION_POLLS = 2 };
void direction_poll(const struct direction *direction, struct pollfd polls[DIRECTION_POLLS]);

/* direction_read() reads and judges what poll() reported. direction_write() writes what the reader takes,
 * whatever poll() reported. Neither blocks. */
void direction_read(struct direction *direction, const struct pollfd polls[DIRECTION_POLLS]);
void direction_write(struct direction *direction);

#endif
