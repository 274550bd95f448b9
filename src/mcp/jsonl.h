/* SPDX-License-Identifier: Apache-2.0
 *
 * The strict scanner: one line of stdio, one JSON-RPC message. It accepts only what every parser understands
 * alike, and rewrites the line to what it understood, so that no byte passes that it did not. It must never
 * read outside the line, recurse, or accept what two parsers take for two things.
 *
 * Theory of operation: in jsonl.c. Where parsers disagree: the unit and differential tests name each class.
 */
#ifndef HUTCH_MCP_JSONL_H
#define HUTCH_MCP_JSONL_H

#include "mcp/json_walk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        JSONL_DEPTH_MAX = 128,       /* what the strictest widespread parser takes */
        JSONL_MEMBERS_MAX = 1 << 20, /* of all objects that are open at once */
        JSONL_ID_MAX = 256,          /* bytes of an id, as spelled */
};

enum jsonl_kind {
        JSONL_BLANK,        /* nothing but white space: no message, and no harm */
        JSONL_REQUEST,      /* method and id */
        JSONL_NOTIFICATION, /* method, no id */
        JSONL_RESPONSE,     /* result and id */
        JSONL_ERROR,        /* error, with an id or with null */
        JSONL_BATCH,        /* an array of these; its members are scanned one by one */
};

struct jsonl_message {
        enum jsonl_kind kind;
        size_t length; /* of the line that was written in place of the one that was read */
        struct json_span id, method, params, result, error, version;
};

/* What scanning needs besides the line: zero it, set `seed` to something that the writers of lines cannot
 * know, free with jsonl_free(). */
struct jsonl {
        uint64_t seed;
        uint64_t *keys; /* hashes of the keys of open objects */
        size_t keys_room;
};

/* Reads `length` bytes of a line, its LF not among them, and writes the message to the same place without the
 * white space that means nothing. `batches`: an array of messages is accepted too. NULL with *message filled,
 * or half a sentence that says why the line is refused. The line is spoiled then; which parts of a message
 * were begun shows at their `at`, and `id` is whole, or absent. */
const char *jsonl_scan(struct jsonl *jsonl, char *line, size_t length, bool batches,
                       struct jsonl_message *message);

/* The same for a line that is one object of any kind, as a file of records has it. */
bool jsonl_scan_object(struct jsonl *jsonl, char *line, size_t length, struct json_span *object);

void jsonl_free(struct jsonl *jsonl);

#endif
