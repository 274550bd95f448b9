/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding an executable as a shell does, and one sentence about the places searched when there is none. It
 * only looks: it grants nothing and starts nothing.
 */
#ifndef HUTCH_COMMAND_SEARCH_H
#define HUTCH_COMMAND_SEARCH_H

#include "lib/err.h"

#include <stdbool.h>

/* The search path when the caller has no PATH. */
#define SEARCH_SYSTEM_PATH "/usr/local/bin:/usr/bin:/bin"

/* Why no candidate can be executed: the reason of one that exists, else of the first. Zero it to begin. */
struct search_failure {
        char path[4096]; /* of that candidate; "" when there was none */
        int status;      /* EXIT_NOT_FOUND or EXIT_NOT_EXECUTABLE */
        const char *problem;
};

/* Looks for `name` in the directories of `path` (colons between them; an empty or relative one is relative to
 * `cwd`). Returns the absolute path, which the caller frees, or NULL; `failure` may be NULL. */
char *search_path(const char *path, const char *cwd, const char *name, struct search_failure *failure);

/* The same for a name with a `/` in it. */
char *search_file(const char *cwd, const char *name, struct search_failure *failure);

/* A glob(3) pattern that matches exactly `text`. The caller frees. */
char *search_escape(const char *text);

/* Lists copies of the command where version managers and installers put programs: "; name it by its path: A,
 * B", or "" when there are none. The caller frees. */
char *search_list_copies(const char *name, const char *home);

/* Turns a failure into one sentence and returns false. */
bool search_explain(const struct search_failure *failure, const char *name, const char *path,
                    const char *home, struct error *error);

#endif
