/* SPDX-License-Identifier: Apache-2.0
 *
 * --explain: a call that failed while the network refused something says so in its result, so that the model
 * can tell the person what to permit instead of trying again.
 */
#ifndef HUTCH_MCP_EXPLAIN_H
#define HUTCH_MCP_EXPLAIN_H

#include "mcp/buf.h"
#include "mcp/jsonl.h"

/* How long hutch-nat may take to say what it refused. It takes a turn of its loop; were it stuck, the answer
 * would go without an explanation. */
enum { EXPLAIN_WAIT_MS = 500 };

struct explain {
        bool on;        /* hutch-nat can be asked (wire.h's FILTER_NAT) */
        uint64_t asked; /* questions up to now */
};

/* Writes the answer `line` with one text more, where it is a tool's failure and something was refused since
 * `since` (clock_now_ns()). False, with nothing written, where it is not. */
bool explain_put(struct explain *explain, long long since, char *line, const struct jsonl_message *message,
                 struct buf *out);

#endif
