/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing JSON. A function that takes a key adds a member to the open object, or an item to the open list
 * when the key is NULL. Whatever a key or a value contains, it cannot end the string that it becomes.
 * cJSON reads only: its numbers are floating point, and it passes invalid UTF-8 on.
 */
#ifndef HUTCH_LIB_JSON_H
#define HUTCH_LIB_JSON_H

#include "lib/buf.h"
#include "lib/str.h"

#include <stdint.h>
#include <stdio.h>

/* Initialize with `out` and the choices. */
struct json {
        struct buf *out;
        bool pretty; /* one member per line, for people */
        bool ascii;  /* \u escapes in place of what is not printable ASCII */
        bool comma;  /* the next value needs one before it */
        unsigned depth;
};

/* Opens an object or a list with '{' or '['; closes those that are open with their brackets, as "]}". */
void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, const char *brackets);

/* A text made printable as error_quote() does it, but with its tabs and line ends: paths and arguments are
 * bytes. NULL becomes null. */
void json_text(struct json *json, const char *key, const char *text);
void json_texts(struct json *json, const char *key, const struct str_list *list);
/* A text as it is, but for invalid UTF-8, which becomes U+FFFD. */
#define json_exact(json, key, text, length) json_cut((json), (key), (text), (length), SIZE_MAX)
/* The same of about `limit` bytes, then an ellipsis. */
void json_cut(struct json *json, const char *key, const char *text, size_t length, size_t limit);
void json_number(struct json *json, const char *key, uint64_t number);
/* Null unless the number is known. */
void json_number_if(struct json *json, bool known, const char *key, uint64_t number);
void json_bool(struct json *json, const char *key, bool value);
/* A value that is JSON already. */
void json_raw(struct json *json, const char *key, const char *value, size_t length);

/* Writes all of `out` and a line end to a file, and frees it. False on a failure. */
bool json_print(struct json *json, FILE *out);

/* A string alone, with its quotes, or the inside of one: about `limit` bytes, then an ellipsis. The caller of
 * json_shown() frees. */
void json_string(struct buf *out, const char *text, size_t length, size_t limit, bool ascii);
char *json_shown(const char *text, size_t length, size_t limit);
void json_escape(struct buf *out, const char *text, size_t length, size_t limit, bool ascii);

#endif
