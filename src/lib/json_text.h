/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a JSON string: plain bytes, escapes. Strings are most of a message, so
 * plain bytes are scanned sixteen at a time. No function reads at or behind `end`.
 */
#ifndef HUTCH_LIB_JSON_TEXT_H
#define HUTCH_LIB_JSON_TEXT_H

#include <stddef.h>

/* What a string contains besides plain text. */
enum { JSON_HAS_ESCAPES = 1, JSON_HAS_NUL = 2, JSON_HAS_LONE_SURROGATE = 4 };

/* The first byte that is not plain ASCII (a quote, a backslash, a control byte, or the start of a longer
 * character), or `end`. */
const unsigned char *json_skip_plain(const unsigned char *at, const unsigned char *end);

/* The position behind the escape whose backslash is at `at`, or NULL if it is invalid. Adds what it means to
 * *has. */
const unsigned char *json_skip_escape(const unsigned char *at, const unsigned char *end, unsigned *has);

/* Writes the text of a valid string of `length` bytes, which include its quotes. A lone surrogate becomes the
 * three bytes that UTF-8 would have for it. `out` needs `length` bytes, and is not terminated. Returns the
 * text's length. */
size_t json_unescape(const char *string, size_t length, char *out);

#endif
