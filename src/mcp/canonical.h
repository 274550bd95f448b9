/* SPDX-License-Identifier: Apache-2.0
 *
 * The canonical form of a JSON value: members in the order of their keys' bytes, strings with the fewest
 * escapes, no white space. Two values that mean the same have the same form, but for the spelling of numbers.
 */
#ifndef HUTCH_MCP_CANONICAL_H
#define HUTCH_MCP_CANONICAL_H

#include "mcp/buf.h"
#include "mcp/json_walk.h"

/* Appends the form of a value of an accepted line. */
void canonical_put(struct buf *out, struct json_span value);

/* The same of an object, but only of members that `keys` (sorted, NULL-terminated) has. */
void canonical_put_members(struct buf *out, struct json_span object, const char *const *keys);

/* Says how two canonical values differ, in at most `most` lines: each is given to `say` with the place in the
 * value
 * ("inputSchema.properties.path") and what was and is there. */
typedef void canonical_report(void *context, const char *line);
void canonical_compare(struct json_span was, struct json_span is, size_t most, canonical_report *report,
                       void *context);

#endif
