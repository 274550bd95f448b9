/* SPDX-License-Identifier: Apache-2.0
 *
 * What is between the quotes of a JSON string: plain bytes, characters of UTF-8, escapes. Strings are most of
 * a message, so their plain bytes are looked at sixteen at a time. Nothing here reads at or behind `end`.
 */
#ifndef HUTCH_MCP_JSON_TEXT_H
#define HUTCH_MCP_JSON_TEXT_H

#include <stddef.h>

/* What a string holds besides plain text. */
enum { JSON_HAS_ESCAPES = 1, JSON_HAS_NUL = 2, JSON_HAS_LONE_SURROGATE = 4 };

/* The first byte that is not plain ASCII: a quote, a backslash, a control byte, the begin of a longer
 * character; or the end. */
const unsigned char *json_skip_plain(const unsigned char *at, const unsigned char *end);

/* The length of the character of two to four bytes at `at`, or 0 when it is none (RFC 3629). */
size_t json_measure_character(const unsigned char *at, const unsigned char *end);

/* Behind the escape whose backslash is at `at`, adding to *has what it stands for; NULL when it is none. */
const unsigned char *json_skip_escape(const unsigned char *at, const unsigned char *end, unsigned *has);

/* The text of a valid string of `length` bytes with its quotes, the escapes undone, not terminated; half a
 * character (a lone surrogate) becomes the obvious three bytes. `out` has room for `length` bytes, which is
 * always enough. Returns the text's length. */
size_t json_unescape(const char *string, size_t length, char *out);

#endif
