/* SPDX-License-Identifier: Apache-2.0
 *
 * Which directory a program belongs to, and whether hutch may grant that directory because one program in it
 * was named. A directory that would show more than a program's own files is never its own directory. The
 * functions also tell what the command itself may have written from what only the user writes. They only
 * look.
 */
#ifndef HUTCH_COMMAND_DIRECTORIES_H
#define HUTCH_COMMAND_DIRECTORIES_H

#include "grants/resolver.h"

#include <stdbool.h>

/* True for paths that the sandbox's view of the host's /usr shows unchanged. */
bool directory_in_host_tree(const char *path);

/* True when `path` is a directory, or a link to one. */
bool directory_exists(const char *path);

/* True when `directory` has an entry `name`, which may be a path. */
bool directory_has(const char *directory, const char *name);

/* True when the last component of `path` is `name`. */
bool directory_path_has_name(const char *path, const char *name);

/* True when `directory` is a virtual environment of Python. */
bool directory_is_venv(const char *directory);

/* True for ~/Documents, ~/Downloads and ~/Desktop (a real path), in which programs are among private files.
 */
bool directory_is_personal(const struct resolver *resolver, const char *directory);

/* True when a directory may be granted because one program in it was named. False for directories that many
 * programs or users share, for those that everybody may write to, and for sensitive paths. */
bool directory_is_own(const struct resolver *resolver, const char *directory);

/* True when `directory` is the top of a writable grant, of this run or an earlier one. A search upward must
 * not go above it: a server that removes the package.json in its own directory would otherwise get the
 * directory of the next one granted. */
bool directory_is_writable_grant(const struct resolver *resolver, const char *directory);

/* The directory that a program at or in `start` belongs to: the outermost node_modules above it, whose
 * packages need each other; else the nearest package root, or the workspace around that; else the directory
 * of its bin, when it has a lib too. NULL when there is none. The caller frees. */
char *directory_find_root(const struct resolver *resolver, const char *start);

/* The nearest directory at or above `start` for which `matches` is true. The search ends at the top of a
 * writable grant and below the first directory that is not a program's own; then it returns NULL. The caller
 * frees. */
char *directory_find_above(const struct resolver *resolver, const char *start, bool (*matches)(const char *));

/* True when an earlier run of the command may have made the entry at `path`: a writable grant has it. */
bool directory_may_be_written(const struct resolver *resolver, const char *path);

/* The same for the entry or the content of the file that it leads to. */
bool directory_content_may_be_written(const struct resolver *resolver, const char *path);

#endif
