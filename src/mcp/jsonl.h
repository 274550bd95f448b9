/* SPDX-License-Identifier: Apache-2.0
 *
 * The strict scanner: one line of stdio, one JSON-RPC message. It accepts only what every parser reads the
 * same way, and rewrites the line to what it understood, so that no other byte passes. It must never read
 * outside the line, recurse, or accept what two parsers read differently.
 *
 * The unit tests and the differential tests name each class of text on which parsers disagree.
 */
#ifndef HUTCH_MCP_JSONL_H
#define HUTCH_MCP_JSONL_H

#include "mcp/json_walk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        JSONL_DEPTH_MAX = 128,       /* the limit of the strictest widespread parser */
        JSONL_MEMBERS_MAX = 1 << 20, /* of all open objects together */
        JSONL_ID_MAX = 256,          /* bytes, as spelled */
};

enum jsonl_kind {
        JSONL_BLANK,        /* white space only: not a message, and harmless */
        JSONL_REQUEST,      /* method and id */
        JSONL_NOTIFICATION, /* method, no id */
        JSONL_RESPONSE,     /* result and id */
        JSONL_ERROR,        /* error, with an id or with null */
        JSONL_BATCH,        /* an array of these; its members must be scanned one by one */
};

struct jsonl_message {
        enum jsonl_kind kind;
        size_t length; /* of the rewritten line */
        struct json_span id, method, params, result, error, version;
};

/* The state that scanning needs besides the line. Initialize with zeros, set `seed` to a value that the
 * writers of lines cannot know, and free with jsonl_free(). */
struct jsonl {
        uint64_t seed;
        uint64_t *keys; /* hashes of the keys of open objects */
        size_t keys_room;
};

/* Scans a line of `length` bytes without its LF, and rewrites it in place without insignificant white space.
 * `batches`: also accepts an array of messages. Returns NULL with *message filled in, or half a sentence that
 * says why the line is refused. In that case the content of the line is undefined; `at` of a part tells
 * whether it was begun, and `id` is complete or absent. */
const char *jsonl_scan(struct jsonl *jsonl, char *line, size_t length, bool batches,
                       struct jsonl_message *message);

/* The same for a line that is one object of any kind, such as a line of a record file. */
bool jsonl_scan_object(struct jsonl *jsonl, char *line, size_t length, struct json_span *object);

void jsonl_free(struct jsonl *jsonl);

#endif
