/* SPDX-License-Identifier: Apache-2.0
 *
 * Which directory a program belongs to, and whether it may be granted because one program in it was named. A
 * directory that would open more than a program's own files is never its own directory; what the command
 * itself may have written is told apart from what the person has there. It only looks: nothing is granted
 * here.
 */
#ifndef HUTCH_COMMAND_DIRECTORIES_H
#define HUTCH_COMMAND_DIRECTORIES_H

#include "box/box.h"

#include <stdbool.h>

struct directories {
        const struct box *box; /* with the person's grants in it, or NULL */
        const char *real_home; /* "" when there is none */
};

/* The host tree shows these paths as they are. */
bool directory_in_host_tree(const char *path);

bool directory_exists(const char *path);
bool directory_has(const char *directory, const char *name);

/* True when the last component of `path` is `name`. */
bool directory_path_has_name(const char *path, const char *name);

/* True when `directory` is a virtual environment of Python. */
bool directory_is_venv(const char *directory);

/* True when `directory` has a file that marks the root of a package or project. */
bool directory_is_package(const char *directory);

/* True when `directory` is plainly an installed Python or Node.js. */
bool directory_is_runtime(const char *directory);

/* True when a directory may be granted because one program in it was named: not where many programs' or other
 * people's files lie side by side. */
bool directory_is_own(const struct directories *directories, const char *directory);

/* True when `directory` is what the person granted writable. A search upward must not go above it: a server
 * that removes the package.json in its own directory would get the next one above granted. */
bool directory_is_writable_grant(const struct directories *directories, const char *directory);

/* The directory that a program at or in `start` belongs to, or NULL: a whole Homebrew or the Nix store, the
 * outermost node_modules above it (packages in it need their neighbours), else the nearest package root, or
 * the workspace around that, or the nearest installation (bin with lib beside it). The caller frees. */
char *directory_find_root(const struct directories *directories, const char *start);

/* The Homebrew or Nix store that holds `start`, whose programs load libraries of their neighbours; or NULL.
 * The caller frees. */
char *directory_find_whole_prefix(const struct directories *directories, const char *start);

/* The nearest directory at or above `start` for which `matches` is true, within directories that are its own
 * and not above a writable grant; or NULL. The caller frees. */
char *directory_find_above(const struct directories *directories, const char *start,
                           bool (*matches)(const char *));

/* Did the command, in an earlier run, perhaps put what stands at `path` there? */
bool directory_may_be_written(const struct directories *directories, const char *path);

/* The same for what is in the file, wherever links lead to it. */
bool directory_content_may_be_written(const struct directories *directories, const char *path);

#endif
