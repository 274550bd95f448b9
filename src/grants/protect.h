/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps files that host programs execute or obey (git hooks, editor, shell and MCP client configuration)
 * read-only inside writable grants, and likewise the paths of --protect.
 *
 * Theory of operation. A read-only bind mount protects an object, not the path to it: with /project writable,
 * `mv .git x; mkdir -p .git/hooks` in the sandbox would put a directory of the command's at the path where
 * the host's git looks for hooks. The kernel refuses to rename or remove a mount point (EBUSY), so
 * protect_add() pins every directory between a writable grant and any mount below it: it bind mounts the
 * directory, writable, onto itself. Masks and narrower grants need the same as protected names, because the
 * next run looks for them by path again.
 *
 * Nothing can be mounted where nothing exists, and hutch creates no placeholder on the host; nor can anything
 * be mounted on a symbolic link. hutch watches these names and the links on the way to them
 * (watched_names.h), protects what a link leads to, and reports what the run created or changed.
 *
 * The user's own grants win: where a deeper grant, or a mask, covers a protected name, it decides.
 */
#ifndef HUTCH_GRANTS_PROTECT_H
#define HUTCH_GRANTS_PROTECT_H

#include "grants/resolver.h"

/* Adds the read-only mounts and the pins. Call when the box has every other mount. Adds the names to watch to
 * held->watched. Status 2 when a path of --protect does not exist or is in no writable grant. */
bool protect_add(const struct resolver *resolver);

/* True when `path` inside is, contains or is below a name that is protected by default, in the deepest
 * writable grant of the user's that contains the path. Nothing needs to exist there. */
bool protect_names(const struct box *box, const char *path);

#endif
