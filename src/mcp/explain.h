/* SPDX-License-Identifier: Apache-2.0
 *
 * --explain: adds the network's refusals to the result of a call that failed, so that the model can tell the
 * user what to permit instead of trying again.
 */
#ifndef HUTCH_MCP_EXPLAIN_H
#define HUTCH_MCP_EXPLAIN_H

#include "lib/buf.h"
#include "mcp/jsonl.h"

/* How long to wait for hutch-nat. It answers within one turn of its event loop; if it hangs, the result
 * passes without an explanation. */
enum { EXPLAIN_WAIT_MS = 500 };

struct explain {
        bool on;        /* hutch-nat can be asked (descriptor FILTER_NAT of wire.h) */
        uint64_t asked; /* questions so far */
};

/* If the answer `line` is the failure of a tool, and hutch-nat has refused something since `since`
 * (clock_now_ns()): writes the answer with one more text to `out`, and returns true. Otherwise writes nothing
 * and returns false. */
bool explain_put(struct explain *explain, long long since, char *line, const struct jsonl_message *message,
                 struct buf *out);

#endif
