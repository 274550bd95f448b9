/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's unanswered requests, by id. An answer counts only if its id is exactly one of these: some
 * clients take "1" or "0x1" for 1, and would otherwise read an answer that nobody judged. The number of
 * requests is bounded; when it is reached, the oldest is dropped.
 */
#ifndef HUTCH_MCP_REQUESTS_H
#define HUTCH_MCP_REQUESTS_H

#include "lib/buf.h"
#include "mcp/json_walk.h"

#include <stdbool.h>
#include <stdint.h>

enum { REQUEST_MAX = 16384, REQUEST_BUCKETS = 1024 };

enum request_kind { REQUEST_OTHER, REQUEST_INITIALIZE, REQUEST_LIST, REQUEST_CALL };

struct request {
        struct request *next_in_bucket, *older, *newer;
        enum request_kind kind;
        bool modern;        /* of revision 2026-07-28 or later */
        bool first_page;    /* of REQUEST_LIST */
        bool shared;        /* of REQUEST_LIST: a request of another kind has the same id */
        unsigned others;    /* earlier unanswered requests with the same id */
        bool is_task;       /* of REQUEST_CALL: the answer is a task */
        long long began_ns; /* clock_now_ns() */
        size_t bytes;       /* the size of the request */
        struct buf record;  /* of REQUEST_CALL: the beginning of its record in the log */
        size_t id_length;
        char id[]; /* a number as spelled, or " and the unescaped text of a string */
};

struct requests {
        uint64_t seed;
        size_t count;
        struct request *oldest, *newest;
        struct request *buckets[REQUEST_BUCKETS];
};

/* Adds a request, replacing an earlier one with the same id. The scanner must have accepted `id`. `requests`
 * owns the result; the pointer is valid until the request is removed or replaced. */
struct request *requests_add(struct requests *requests, struct json_span id);

/* The request with this id, or NULL. */
struct request *requests_find(const struct requests *requests, struct json_span id);

void requests_remove(struct requests *requests, struct request *request);

#endif
