/* SPDX-License-Identifier: Apache-2.0
 *
 * The files and directories from which Git, when the user runs it outside of the sandbox, takes programs to
 * run: of each repository in a writable grant, at every path where Git may keep them. This module reads
 * configuration files, runs nothing and writes nothing.
 */
#ifndef HUTCH_GRANTS_GIT_H
#define HUTCH_GRANTS_GIT_H

#include "grants/resolver.h"

/* Adds to `places`, for each repository, the host paths of its configuration, of its hooks and of what leads
 * to either. The directory of each path is real; the path itself need not exist nor be in a grant. Prints a
 * note when a grant is too large to search all of it. */
void git_find(const struct resolver *resolver, struct str_list *places);

/* The path that the first line of `file` names after `prefix` ("gitdir: " in a .git that is a file). A
 * relative one is relative to `directory`. Returns the real path, which the caller frees, or NULL. */
char *git_read_pointer(struct walker *walker, const char *file, const char *prefix, const char *directory);

#endif
