/* SPDX-License-Identifier: Apache-2.0
 *
 * Where Git, run by the person outside, finds what it executes: the files and directories of each repository
 * that a writable grant holds, at any of the places where Git may keep them. They are only found here, never
 * opened for anything but reading, and Git is not run.
 */
#ifndef HUTCH_GRANTS_GIT_H
#define HUTCH_GRANTS_GIT_H

#include "box/box.h"

/* Adds to `places` absolute host paths, by real directories, whether something is there or not, and whether a
 * grant holds them or not: of each repository the configuration, the hooks and what leads to either. Says
 * when there was too much to look at all of it. */
void git_find(const struct box *box, struct str_list *places);

/* The path in the first line of a file behind `prefix` ("gitdir: " in a .git that is a file), relative to
 * `directory`: real, and the caller frees it; or NULL. */
char *git_read_pointer(const char *file, const char *prefix, const char *directory);

#endif
