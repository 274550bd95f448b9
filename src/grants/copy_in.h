/* SPDX-License-Identifier: Apache-2.0
 *
 * --file: what the person sends in. Judged here like a grant for reading, and its place like something that
 * the command could write there itself; copied by ns/copy_in.c. Nothing is read and nothing made here.
 */
#ifndef HUTCH_GRANTS_COPY_IN_H
#define HUTCH_GRANTS_COPY_IN_H

#include "box/box.h"
#include "grants/mounts.h"
#include "options/options.h"

/* Adds the files, before mounts_check_links(). Status 125 for what is no regular file, cannot be read, is too
 * large, or would void the sandbox. */
bool copy_in_add(struct box *box, struct held_sources *held, const struct options *options, const char *cwd,
                 struct error *error);

/* Settles where they go, when the box has every mount. Status 125 where the command could not write. With
 * `protect`, also for a name that is protected by default and does not exist. */
bool copy_in_place(struct box *box, bool protect, struct error *error);

/* The file that will be at `path` inside (absolute and normal), or NULL. */
const struct copy_in *copy_in_find(const struct box *box, const char *path);

/* True when one will be at `path` or below it: what the host has there is not what the command means. */
bool copy_in_lead_to(const struct box *box, const char *path);

#endif
