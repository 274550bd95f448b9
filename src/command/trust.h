/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether what a link, a `#!` line or a interpreter's text leads to may be granted without being asked for.
 * Such a reference may be the work of an earlier run, which had its directory writable, or of whoever made a
 * clone: nothing in it says who wrote it, only where it lies and where it leads do. It only looks: nothing is
 * granted here.
 */
#ifndef HUTCH_COMMAND_TRUST_H
#define HUTCH_COMMAND_TRUST_H

#include "command/directories.h"

#include <stdbool.h>

struct trust {
        const struct directories *directories;
        const char *path; /* the caller's $PATH, or NULL */
        const char *home; /* the caller's $HOME as spelled, "" when there is none */
};

/* May `from` (a link, or a file that names another) lead to `target`? Both absolute and normal. True where
 * only the person can have put `from`, and where it leads no further than its own project. */
bool trust_reference(const struct trust *trust, const char *from, const char *target);

/* The same for every link that `path` (absolute and normal) leads through. When false, *from and *to, if they
 * are not NULL, become the first that is in doubt and where it leads; the caller frees both. Links in a
 * writable grant are left to grants_add_program(), which refuses them. */
bool trust_way(const struct trust *trust, const char *path, char **from, char **to);

/* The same for an absolute path with `..` in it, which may stand behind a link. */
bool trust_spelled_way(const struct trust *trust, const char *path);

/* The installed Python, Node.js, Homebrew or Nix store of which `path` is a part, by its real path; NULL when
 * it is part of none. It holds nobody's own files, so it may be granted whoever asks. The caller frees. */
char *trust_find_installation(const struct directories *directories, const char *path);

#endif
