/* SPDX-License-Identifier: Apache-2.0
 *
 * --file: what the person sends in. Judged here like a grant for reading, and its place like something that
 * the command could write there itself; copied by ns/files.c. Nothing is read and nothing made here.
 */
#ifndef HUTCH_BOX_FILES_H
#define HUTCH_BOX_FILES_H

#include "box/box.h"
#include "box/mounts.h"
#include "cli/options.h"

/* Adds the files, before mounts_check_links(). Status 125 for what is no regular file, cannot be read, is too
 * large, or would void the sandbox. */
bool files_add(struct box *box, struct held_sources *held, const struct options *options, const char *cwd,
               struct error *error);

/* Settles where they go, when the box has every mount. Status 125 where the command could not write. With
 * `protect`, also for a name that is protected by default and does not exist. */
bool files_place(struct box *box, bool protect, struct error *error);

/* The file that will be at `path` inside (absolute and normal), or NULL. */
const struct sent_file *files_find(const struct box *box, const char *path);

/* True when one will be at `path` or below it: what the host has there is not what the command means. */
bool files_lead_to(const struct box *box, const char *path);

#endif
