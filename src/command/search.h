/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding an executable as a shell does, and saying where it was looked for when there is none. It only
 * looks: nothing is granted or started here.
 */
#ifndef HUTCH_COMMAND_SEARCH_H
#define HUTCH_COMMAND_SEARCH_H

#include "lib/err.h"

#include <stdbool.h>

/* Where commands are looked for when the caller has no PATH. */
#define SEARCH_SYSTEM_PATH "/usr/local/bin:/usr/bin:/bin"

/* The best reason for not finding one: what came nearest. */
struct search_failure {
        char path[4096]; /* the file that was there, "" when none was */
        int status;      /* EXIT_NOT_FOUND or EXIT_NOT_EXECUTABLE */
        const char *problem;
};

/* Looks for `name` in the directories of `path` (colons between them; an empty or relative one is relative to
 * `cwd`). The absolute path, which the caller frees, or NULL; `failure` may be NULL. */
char *search_path(const char *path, const char *cwd, const char *name, struct search_failure *failure);

/* The same for a name with a `/` in it. */
char *search_file(const char *cwd, const char *name, struct search_failure *failure);

/* A pattern for glob(3) that matches `text` itself. The caller frees. */
char *search_escape(const char *text);

/* "; name it by its path: A, B" for copies of the command where version managers and installers put them, or
 * "". The caller frees. */
char *search_list_copies(const char *name, const char *home);

/* Turns a failure into one sentence and returns false. For a bare name it lists copies in places where
 * version managers put programs. */
bool search_explain(const struct search_failure *failure, const char *name, const char *path,
                    const char *home, struct error *error);

#endif
