/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of tool calls for --log: which tool, what was decided, how long it took, how much went. Arguments
 * only where the person asked for them, and then without the values of variables that were passed on.
 */
#ifndef HUTCH_MCP_CALL_LOG_H
#define HUTCH_MCP_CALL_LOG_H

#include "lib/str.h"
#include "mcp/json_walk.h"
#include "mcp/requests.h"

enum { CALL_ARGUMENTS_MAX = 2000 }; /* bytes of arguments that a record shows */

struct call_log {
        bool on;
        bool arguments;          /* --log-arguments */
        struct str_list secrets; /* what no record may show */
};

/* Adds a value of a variable, and the form it has inside a JSON text. Too short a value would hide everything
 * and protect nothing. */
enum { CALL_SECRET_LEAST = 4 };
void call_log_hide(struct call_log *log, const char *value);

/* Notes in the request what its record will say. */
void call_log_begin(const struct call_log *log, struct request *request, struct json_span params);

/* The record of a call that was answered, by so many bytes, with an error or without; or that never was (0
 * bytes). */
void call_log_end(const struct call_log *log, const struct request *request, size_t bytes, bool failed);

/* The record of a call that was refused. */
void call_log_refused(const struct call_log *log, struct json_span params, size_t bytes, const char *why);

#endif
