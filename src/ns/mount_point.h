/* SPDX-License-Identifier: Apache-2.0
 *
 * Places in the new root: mount points, links and small files. A place is made when it is missing and in the
 * sandbox's memory. Nothing here ever creates anything on the host: a missing place in a granted directory is
 * an error. Destinations are absolute, normal paths inside.
 */
#ifndef HUTCH_NS_MOUNT_POINT_H
#define HUTCH_NS_MOUNT_POINT_H

#include "ns/entering.h"

/* True when `destination` is in the root's own tmpfs, because no mount of the box is above it. */
bool mount_point_is_in_root(const struct box *box, const char *destination);

/* Attaches the detached mount `tree` at `destination`; `directory`: it is one. */
void mount_point_attach(const struct entering *entering, int tree, const char *destination, bool directory);

/* Makes the symbolic link of a MOUNT_LINK, unless something is at its place. */
void mount_point_make_link(const struct entering *entering, const struct mount *mount);

/* Makes the file of a MOUNT_FILE, in the root's own tmpfs only. */
void mount_point_make_file(const struct entering *entering, const struct mount *mount);

/* An O_PATH descriptor of what is at `destination`, or -1 with errno. No link is followed. */
int mount_point_open(const struct entering *entering, const char *destination, int flags);

#endif
