/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's requests that have no answer yet, by id. An answer counts only when it names one exactly: a
 * client that takes "1" or "0x1" for 1 (some do) would otherwise read what nobody judged. What is kept is
 * bounded; the oldest makes room.
 */
#ifndef HUTCH_MCP_PENDING_H
#define HUTCH_MCP_PENDING_H

#include "mcp/json_walk.h"

#include <stdbool.h>
#include <stdint.h>

enum { PENDING_MAX = 16384 };

enum pending_kind { PENDING_OTHER, PENDING_INITIALIZE, PENDING_LIST, PENDING_CALL };

struct pending {
        struct pending *next_in_bucket, *older, *newer;
        enum pending_kind kind;
        bool modern;        /* it is of revision 2026-07-28 or later */
        bool first_page;    /* of PENDING_LIST */
        bool shared;        /* of PENDING_LIST: another request, no list, has the same id */
        unsigned others;    /* requests of the same id before it that have no answer either */
        bool is_task;       /* of PENDING_CALL: the answer is a task */
        long long began_ns; /* clock_now_ns() */
        size_t bytes;       /* of the request */
        char *record;       /* of PENDING_CALL: the beginning of its record in the log, or NULL */
        size_t record_length;
        size_t id_length;
        char id[]; /* a number as spelled, or " and a string's text */
};

struct pending_table {
        uint64_t seed;
        size_t count;
        struct pending *oldest, *newest;
        struct pending *buckets[1024];
};

/* Adds a request, instead of an earlier one of that id; `id` is one that the scanner accepted. It belongs to
 * the table; *request until it is taken. */
struct pending *pending_add(struct pending_table *table, struct json_span id);

/* The request that an id names, or NULL. */
struct pending *pending_find(const struct pending_table *table, struct json_span id);

void pending_remove(struct pending_table *table, struct pending *request);

#endif
