/* SPDX-License-Identifier: Apache-2.0
 *
 * Other places at which the host shows the same file or folder, by bind mounts. It reads the list of mounts
 * and looks at what is there; it opens nothing.
 */
#ifndef HUTCH_BOX_ALIASES_H
#define HUTCH_BOX_ALIASES_H

#include "lib/err.h"
#include "lib/str.h"

/* Appends to `places` the real paths, other than `real` itself, where a mount of the host shows the object at
 * the real path `real`, or, when that is a folder, a part of it. Status 125 when the list of mounts cannot be
 * read. */
bool aliases_find(const char *real, struct str_list *places, struct error *error);

#endif
