/* SPDX-License-Identifier: Apache-2.0
 *
 * Walking through a line that the scanner has accepted (jsonl.h), without building anything of it. On a text
 * that was not accepted nothing here may be called: nothing is checked a second time.
 */
#ifndef HUTCH_MCP_JSON_WALK_H
#define HUTCH_MCP_JSON_WALK_H

#include <stdbool.h>
#include <stddef.h>

/* A value as it stands in a scanned line, a string with its quotes. `at` NULL: absent. */
struct json_span {
        char *at;
        size_t length;
};

/* The members of an object, or the elements of an array (`key` NULL), in order. Begin with *position NULL;
 * false at the end. The value must be of that kind. */
bool json_next(struct json_span value, char **position, struct json_span *key, struct json_span *item);

/* The value of a member, or an absent span; also where `object` is absent or no object. */
struct json_span json_member(struct json_span object, const char *key);

static inline bool json_is_object(struct json_span value)
{
        return value.at && *value.at == '{';
}

static inline bool json_is_array(struct json_span value)
{
        return value.at && *value.at == '[';
}

static inline bool json_is_string(struct json_span value)
{
        return value.at && *value.at == '"';
}

/* True for a string of exactly that text, however it is spelled. False for anything else. */
bool json_text_is(struct json_span value, const char *text);

#endif
