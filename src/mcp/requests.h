/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's requests that have no answer yet, by id. An answer counts only when it names one exactly: a
 * client that takes "1" or "0x1" for 1 (some do) would otherwise read what nobody judged. What is kept is
 * bounded; the oldest makes room.
 */
#ifndef HUTCH_MCP_REQUESTS_H
#define HUTCH_MCP_REQUESTS_H

#include "mcp/json_walk.h"

#include <stdbool.h>
#include <stdint.h>

enum { REQUEST_MAX = 16384 };

enum request_kind { REQUEST_OTHER, REQUEST_INITIALIZE, REQUEST_LIST, REQUEST_CALL };

struct request {
        struct request *next_in_bucket, *older, *newer;
        enum request_kind kind;
        bool modern;        /* it is of revision 2026-07-28 or later */
        bool first_page;    /* of REQUEST_LIST */
        bool shared;        /* of REQUEST_LIST: another request, no list, has the same id */
        unsigned others;    /* requests of the same id before it that have no answer either */
        bool is_task;       /* of REQUEST_CALL: the answer is a task */
        long long began_ns; /* clock_now_ns() */
        size_t bytes;       /* of the request */
        char *record;       /* of REQUEST_CALL: the beginning of its record in the log, or NULL */
        size_t record_length;
        size_t id_length;
        char id[]; /* a number as spelled, or " and a string's text */
};

struct requests {
        uint64_t seed;
        size_t count;
        struct request *oldest, *newest;
        struct request *buckets[1024];
};

/* Adds a request, instead of an earlier one of that id; `id` is one that the scanner accepted. It belongs to
 * the requests; *request until it is taken. */
struct request *requests_add(struct requests *requests, struct json_span id);

/* The request that an id names, or NULL. */
struct request *requests_find(const struct requests *requests, struct json_span id);

void requests_remove(struct requests *requests, struct request *request);

#endif
