/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks through a line that the scanner has accepted (jsonl.h), without building a tree. Never call it for
 * any other text: it checks nothing a second time.
 */
#ifndef HUTCH_MCP_JSON_WALK_H
#define HUTCH_MCP_JSON_WALK_H

#include <stdbool.h>
#include <stddef.h>

/* A value in a scanned line; a string includes its quotes. `at` NULL: absent. */
struct json_span {
        char *at;
        size_t length;
};

/* Steps through the members of an object, or the elements of an array (`key` absent). Begin with *position
 * NULL; false at the end. `value` must be an object or an array. */
bool json_next(struct json_span value, char **position, struct json_span *key, struct json_span *item);

/* The value of a member. Absent if there is none, or if `object` is not an object. */
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

/* The unescaped text of a string, with a NUL that *length does not count; the caller frees. */
char *json_text_of(struct json_span string, size_t *length);

/* True for a string with this text, however it is spelled; false for any other value. */
bool json_text_is(struct json_span value, const char *text);

#endif
