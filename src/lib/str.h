/* SPDX-License-Identifier: Apache-2.0
 *
 * Strings on the heap, and paths as text. If memory runs out, the process ends with one sentence
 * (str_or_die()). Before a sandbox exists there is nothing to undo, and later the death of the supervisor
 * ends the sandbox.
 */
#ifndef HUTCH_LIB_STR_H
#define HUTCH_LIB_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Returns `pointer`, or ends the process with status 125 when it is NULL. */
void *str_or_die(void *pointer) __attribute__((returns_nonnull));

/* Heap copies; the caller frees. */
char *str_copy(const char *text);
char *str_copy_n(const char *text, size_t length);
char *str_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Lengthens a heap string, or makes one of NULL. */
void str_append(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline bool str_equal(const char *a, const char *b)
{
        return strcmp(a, b) == 0;
}

static inline bool str_starts(const char *text, const char *prefix)
{
        return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The rest of a line that begins with `word` and a blank, or NULL. */
static inline const char *str_after_word(const char *line, const char *word)
{
        size_t length = strlen(word);
        return str_starts(line, word) && line[length] == ' ' ? line + length + 1 : NULL;
}

/* Makes room for one more item of a growing array, and is that item. It grows by one each time, which suits
 * arrays that are short or bounded. */
#define array_add(items, count)                                                                              \
        ((items) = str_or_die(reallocarray((items), (count) + 1, sizeof(*(items)))), &(items)[(count)++])

/* A growing list of strings. It is NULL-terminated once it has an element, so it can serve as argv.
 * Initialize with zeros; the list owns `values` and its strings. */
struct str_list {
        char **values;
        size_t count;
};
void str_list_take(struct str_list *list, char *value); /* the list owns `value` from now on */
void str_list_add(struct str_list *list, const char *value);
/* Adds strings up to a NULL, as the words of a command line are built. The first of them may be NULL too, and
 * then nothing is added. */
#define str_list_add_each(list, ...) str_list_add_array(list, (const char *const[]){__VA_ARGS__})
void str_list_add_array(struct str_list *list, const char *const *values);
void str_list_add_all(struct str_list *to, const struct str_list *from);
void str_list_free(struct str_list *list);
char *str_join(const struct str_list *list, const char *between); /* the caller frees */
bool str_list_has(const struct str_list *list, const char *value);

/* The absolute path of `path`, relative to `base` (absolute). Empty components, `.` and `..` are removed as
 * text, without looking at links. The caller frees. */
char *path_join(const char *base, const char *path);

/* True if `path` is `directory` or is below it. Both must be absolute and normal, as path_join() returns
 * them. */
bool path_is_below(const char *path, const char *directory);

/* The number of components of an absolute, normal path: 0 for "/". */
size_t path_depth(const char *path);

/* The directory of `path` ("/" for "/x"); the caller frees. */
char *path_parent(const char *path);

/* The part of `path` behind its last slash, or all of it; points into `path`. */
const char *path_base(const char *path);

/* Reads the decimal digits at `text`, whose number is cut to most + 1 if it is larger. Returns how many they
 * are. */
size_t str_read_digits(const char *text, uint64_t most, uint64_t *number);

/* True if `text` is a decimal number of at most `most`, and nothing else. */
bool str_read_number(const char *text, uint64_t most, uint64_t *number);

/* Reads the numbers at the start of a kernel's release, as "5.14" or "6.1.0-rc1-name". */
bool str_read_release(const char *text, uint64_t release[2]);
/* True if the release can be read and is this one or a later one. */
bool str_is_release(const char *text, uint64_t major, uint64_t minor);

/* The edit distance (Levenshtein) of two short words, for "did you mean". Compares at most 64 bytes of each.
 */
size_t str_distance(const char *a, const char *b);

/* True if the first `length` bytes of `word` are one of the words in `list`, which blanks separate. */
bool str_words_have(const char *list, const char *word, size_t length);

/* True if `name` can be the name of a directory: letters, digits and ._+-@, without a dot or a dash in front.
 */
#define STR_FILE_NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-@"
bool str_is_file_name(const char *name);

/* True if `length` bytes of `text` are the name of a variable: [A-Za-z_][A-Za-z0-9_]*. */
bool str_is_variable_name(const char *text, size_t length);

#endif
