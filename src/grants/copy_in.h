/* SPDX-License-Identifier: Apache-2.0
 *
 * --file: host files that the sandbox gets a copy of. This module judges each source like a read-only grant,
 * and allows only destinations that the command could write itself. It neither reads nor writes a file;
 * ns/copy_in.c copies.
 */
#ifndef HUTCH_GRANTS_COPY_IN_H
#define HUTCH_GRANTS_COPY_IN_H

#include "grants/resolver.h"

/* Adds the files of --file; call before grants_check_links(). Status 125 when one is not a regular file,
 * cannot be read, is too large or would void the sandbox. */
bool copy_in_add(const struct resolver *resolver);

/* Follows the links on the way to each destination and checks it; call when the box has every mount. Status
 * 125 where the command could not write, and without --no-protect for a name that is protected by default,
 * even where nothing exists. */
bool copy_in_place(const struct resolver *resolver);

/* The file whose copy will be at `path` inside (absolute and normal), or NULL. */
const struct copy_in *copy_in_find(const struct box *box, const char *path);

/* True when a copy will be at `path` inside or below it. The command then does not mean what the host has at
 * that path. */
bool copy_in_lead_to(const struct box *box, const char *path);

#endif
