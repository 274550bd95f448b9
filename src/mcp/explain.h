/* SPDX-License-Identifier: Apache-2.0
 *
 * --explain: a call that failed while the network refused something says so in its result, so that the model
 * can tell the person what to permit instead of trying again.
 */
#ifndef HUTCH_MCP_EXPLAIN_H
#define HUTCH_MCP_EXPLAIN_H

#include "mcp/jsonl.h"
#include "mcp/outbox.h"

enum { EXPLAIN_KEPT = 8 };

struct explain {
        bool on;
        uint64_t count;               /* refusals since the start */
        char *refusals[EXPLAIN_KEPT]; /* the last of them, half sentences: count modulo */
};

/* Takes a record of hutch-nat's (members of an object, without braces); what is no refusal is left out. */
void explain_take(struct explain *explain, struct jsonl *scanner, const char *members, size_t length);

/* Writes the answer `line` with one text more, where it is a tool's failure and something was refused since
 * `since`. False, with nothing written, where it is not. */
bool explain_put(const struct explain *explain, uint64_t since, char *line,
                 const struct jsonl_message *message, struct outbox *out);

#endif
