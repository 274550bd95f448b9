/* SPDX-License-Identifier: Apache-2.0
 *
 * Which folder a program belongs to, and whether it may be granted because one program in it was named. A
 * folder that would open more than a program's own files is never its own folder; what the command itself may
 * have written is told apart from what the person has there. It only looks: nothing is granted here.
 */
#ifndef HUTCH_BOX_FOLDERS_H
#define HUTCH_BOX_FOLDERS_H

#include "box/box.h"

#include <stdbool.h>

struct folders {
        const struct box *box; /* with the person's grants in it, or NULL */
        const char *real_home; /* "" when there is none */
};

/* The host tree shows these paths as they are. */
bool folder_in_host_tree(const char *path);

bool folder_exists(const char *path);
bool folder_has(const char *folder, const char *name);

/* True when the last component of `path` is `name`. */
bool path_has_name(const char *path, const char *name);

/* True when `folder` is a virtual environment of Python. */
bool folder_is_venv(const char *folder);

/* True when `folder` has a file that marks the root of a package or project. */
bool folder_is_package(const char *folder);

/* True when `folder` is plainly an installed Python or Node.js. */
bool folder_is_runtime(const char *folder);

/* True when a folder may be granted because one program in it was named: not where many programs' or other
 * people's files lie side by side. */
bool folder_is_own(const struct folders *folders, const char *folder);

/* True when `folder` is what the person granted writable. A search upward must not go above it: a server that
 * removes the package.json in its own folder would get the next one above granted. */
bool folder_is_writable_grant(const struct folders *folders, const char *folder);

/* The folder that a program at or in `start` belongs to, or NULL: a whole Homebrew or the Nix store, the
 * outermost node_modules above it (packages in it need their neighbours), else the nearest package root, or
 * the workspace around that, or the nearest installation (bin with lib beside it). The caller frees. */
char *folder_find_root(const struct folders *folders, const char *start);

/* The Homebrew or Nix store that holds `start`, whose programs load libraries of their neighbours; or NULL.
 * The caller frees. */
char *folder_find_whole_prefix(const struct folders *folders, const char *start);

/* The nearest folder at or above `start` for which `matches` is true, within folders that are its own and not
 * above a writable grant; or NULL. The caller frees. */
char *folder_find_above(const struct folders *folders, const char *start, bool (*matches)(const char *));

/* Did the command, in an earlier run, perhaps put what stands at `path` there? */
bool folder_may_be_written(const struct folders *folders, const char *path);

/* The same for what is in the file, wherever links lead to it. */
bool folder_content_may_be_written(const struct folders *folders, const char *path);

#endif
