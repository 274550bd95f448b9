/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of one situation, made in a directory of the test's own. A `T` that is a whole component at the
 * beginning of a path, or after one of `:`, a blank, `!`, `=`, `"` or `#`, means that directory; T/home is
 * the caller's home.
 */
#ifndef HUTCH_TESTS_TREE_RIG_H
#define HUTCH_TESTS_TREE_RIG_H

#include "box/box.h"
#include "command/directories.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <sys/types.h>

#include "unit.h"

/* A NULL-terminated list of texts. */
#define LIST(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, tree_set_up, tree_tear_down)

extern char tree_directory[64];

int tree_set_up(void **state);
int tree_tear_down(void **state);

/* `text` with each T replaced. The caller frees. */
char *tree_path(const char *text);

/* Makes a file, a link or a directory, and what is missing above it. T in names, contents and texts counts.
 */
void tree_make_file(const char *name, const char *content, mode_t mode);
void tree_make_link(const char *name, const char *text);
void tree_make_directory(const char *name);
void tree_set_mode(const char *name, mode_t mode);
void tree_remove_file(const char *name);

/* The words of a command, blanks between them, each with its T replaced. The caller frees the list. */
struct str_list tree_words(const char *words);

/* Adds a grant of the directory `path` to the box, at the same place inside. */
void tree_add_grant(struct box *box, const char *path, bool writable, const char *why);

/* What the modules of command/ get: a copy of `box` or an empty box, T/home as the home, T/caller as the
 * working directory, an empty PATH, and no memory of earlier walks. The result is valid until the next call.
 */
struct resolver *tree_resolver(const struct box *box);

/* `found` is `wanted`, with its T replaced, or both are NULL. Frees `found`. */
void assert_found(char *found, const char *wanted);

/* The list has exactly these values, in any order. */
void assert_list(const struct str_list *list, const char *const *wanted);

/* Collects messages for messages_send_to(). */
struct heard {
        char text[8192];
};
void hear(void *heard, const char *line, size_t length);

#endif
