/* SPDX-License-Identifier: Apache-2.0
 *
 * Strings of the heap, and paths as text. Running out of memory ends the process with one sentence (see
 * str_or_die): before a sandbox exists there is nothing to undo, and afterwards the supervisor's death ends
 * it.
 */
#ifndef HUTCH_LIB_STR_H
#define HUTCH_LIB_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Returns `pointer`, or ends the process with status 125 when it is NULL. */
void *str_or_die(void *pointer);

/* Heap copies; the caller frees. */
char *str_copy(const char *text);
char *str_copy_n(const char *text, size_t length);
char *str_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline bool str_equal(const char *a, const char *b)
{
        return strcmp(a, b) == 0;
}

static inline bool str_starts(const char *text, const char *prefix)
{
        return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* A growing list of strings, NULL-terminated once it has an element, so that it serves as argv. Zero it to
 * begin; `values` and what they point to belong to the list. */
struct str_list {
        char **values;
        size_t count;
};
void str_list_take(struct str_list *list, char *value); /* the list owns value from now on */
void str_list_add(struct str_list *list, const char *value);
void str_list_add_all(struct str_list *to, const struct str_list *from);
void str_list_free(struct str_list *list);
bool str_list_has(const struct str_list *list, const char *value);

/* The absolute path made of `base` (absolute) and `path`, with `.`, empty and `..` components folded as text.
 * No link is looked at. The caller frees. */
char *path_join(const char *base, const char *path);

/* True when `path` is `directory` or lies below it (both normal and absolute, as path_join makes them). */
bool path_is_below(const char *path, const char *directory);

/* How many components a normal absolute path has: 0 for "/". */
size_t path_depth(const char *path);

/* The directory that holds `path` ("/" for "/x"); the caller frees. */
char *path_parent(const char *path);

/* What stands behind the last slash of `path`, or the whole of it; a part of `path`. */
const char *path_base(const char *path);

/* The edit distance of two short words (Levenshtein, at most 64 bytes each are looked at): for "did you
 * mean". */
size_t str_distance(const char *a, const char *b);

/* True when the first `length` bytes of `word` are one of the words in `list`, blanks between them. */
bool str_words_have(const char *list, const char *word, size_t length);

/* True when `name` can stand for one directory: letters, digits and ._+-@, and neither a dot nor a dash in
 * front. */
#define STR_FILE_NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-@"
bool str_is_file_name(const char *name);

/* True when `length` bytes are a variable's name: [A-Za-z_][A-Za-z0-9_]*. */
bool str_is_variable_name(const char *text, size_t length);

#endif
