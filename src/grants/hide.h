/* SPDX-License-Identifier: Apache-2.0
 *
 * Masks over what a grant contains and the sandbox must not see: the paths and patterns of --hide, and the
 * sockets of sockets.h. The search happens once, at the start, follows no link and opens nothing but
 * directories.
 */
#ifndef HUTCH_GRANTS_HIDE_H
#define HUTCH_GRANTS_HIDE_H

#include "grants/resolver.h"

/* Adds a mask for everything that `patterns` (--hide) match in the mounts of the box; call when it has them
 * all. A mount below a hidden directory stays visible. Status 2 for a path that does not exist in a writable
 * grant, 125 when the search could not cover everything. */
bool hide_add(const struct resolver *resolver);

/* Adds a mask at every place where a mount shows the host object at the real path `real`. */
void hide_object(struct box *box, const char *real, bool is_directory, struct mount_reason reason);

#endif
