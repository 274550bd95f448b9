/* SPDX-License-Identifier: Apache-2.0
 *
 * What a grant holds and the sandbox must not see: named by the person as a path or a pattern. It is looked
 * for once, at the start; links are not followed on the way, and nothing but directories is opened.
 */
#ifndef HUTCH_GRANTS_HIDE_H
#define HUTCH_GRANTS_HIDE_H

#include "box/box.h"

/* Adds a mask for everything that `patterns` (--hide) name in the mounts the box has; call when it has them
 * all; what is mounted below a hidden directory stays. Status 2 for a path that does not exist in a writable
 * grant; 125 when not everything could be looked at. */
bool hide_add(struct box *box, const struct str_list *patterns, const char *cwd, struct error *error);

/* Adds a mask at every place where a mount shows the host object at the real path `real`. */
void hide_object(struct box *box, const char *real, bool is_directory, const char *why);

#endif
