/* SPDX-License-Identifier: Apache-2.0
 *
 * The canonical form of a JSON value: members sorted by the bytes of their keys, strings with as few escapes
 * as possible, no white space. Values that mean the same have the same form, except for the spelling of
 * numbers.
 */
#ifndef HUTCH_MCP_CANONICAL_H
#define HUTCH_MCP_CANONICAL_H

#include "lib/buf.h"
#include "mcp/json_walk.h"

/* Appends the form of a value that is part of an accepted line. */
void canonical_put(struct buf *out, struct json_span value);

/* The same for an object, reduced to the members in `keys` (NULL-terminated) unless it is NULL. */
void canonical_put_members(struct buf *out, struct json_span object, const char *const *keys);

/* Reports how two canonical values differ, in at most `most` lines. Each line has the place in the value
 * ("inputSchema.properties.path"), and what was and what is there. */
typedef void canonical_report(void *context, const char *line);
void canonical_compare(struct json_span was, struct json_span is, size_t most, canonical_report *report,
                       void *context);

#endif
