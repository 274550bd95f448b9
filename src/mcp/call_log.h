/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of tool calls for --log: the tool, the decision, the duration and the sizes. A record contains
 * arguments only with --log-arguments, and then without the values of forwarded variables.
 */
#ifndef HUTCH_MCP_CALL_LOG_H
#define HUTCH_MCP_CALL_LOG_H

#include "lib/str.h"
#include "mcp/json_walk.h"
#include "mcp/requests.h"

enum { CALL_ARGUMENTS_MAX = 2000 }; /* bytes of arguments that a record contains at most */

struct call_log {
        bool on;
        bool arguments;          /* --log-arguments */
        struct str_list secrets; /* values that no record may contain */
};

/* Adds the value of a variable, and the form that it has inside JSON text. A shorter value than this is not
 * hidden: hiding it would hide everything and protect nothing. */
enum { CALL_SECRET_LEAST = 4 };
void call_log_hide(struct call_log *log, const char *value);

/* Stores the beginning of the call's record in the request. */
void call_log_begin(const struct call_log *log, struct request *request, struct json_span params);

/* Writes the record of a call that was answered with `bytes` bytes, `failed` if with an error. 0 bytes: it
 * was never answered. */
void call_log_end(const struct call_log *log, const struct request *request, size_t bytes, bool failed);

/* Writes the record of a call that was refused. */
void call_log_refused(const struct call_log *log, struct json_span params, size_t bytes, const char *why);

#endif
