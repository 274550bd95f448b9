/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of mounts of a box: host objects by real path, device and inode, and questions about what the list
 * shows. Whether the user may grant an object is decided in grants.h. This module never opens an object for
 * reading and never creates anything.
 */
#ifndef HUTCH_GRANTS_MOUNTS_H
#define HUTCH_GRANTS_MOUNTS_H

#include "box/box.h"
#include "grants/resolver.h"

/* Appends a mount of the host object at the real path `real`, which the caller has judged. Status 125 when it
 * cannot be opened. */
bool mounts_add_bind(const struct resolver *resolver, const char *real, const char *destination,
                     bool writable, struct mount_reason reason);

/* Appends a symbolic link, unless the box has a mount at exactly that place. */
void mounts_add_link(struct box *box, const char *destination, const char *text, struct mount_reason reason);

/* Appends the links that a path led through, so that the path means the same inside. */
void mounts_add_links(struct box *box, const struct walked *walked, struct mount_reason reason);

/* Removes what a new grant at `destination` replaces: the mount there, and every file, link and bind mount of
 * the base below it (`--ro DIR:/etc` brings its own passwd). Memory, /proc and /dev stay, since no sandbox
 * works without them. */
void mounts_make_room(struct box *box, const char *destination);

/* Sorts by depth, links last. A mount then never hides a more specific one, whatever the order of the
 * options, and no link is on the way to a mount point while the mounts are made. Equals keep their order. */
void mounts_sort(struct box *box);

/* The mount whose destination is exactly this, or NULL. */
struct mount *mounts_find_exact(const struct box *box, const char *destination);

/* True when `path` inside shows the host object of the same path. */
bool mounts_show(const struct box *box, const char *path);

/* The path inside at which `mount` shows the host object `real`, which is its source or below it. The caller
 * frees. */
char *mounts_place(const struct mount *mount, const char *real);

/* Where `path` inside leads by the box's own links: /bin/x is /usr/bin/x where /bin is a link. The caller
 * frees. */
char *mounts_follow_inside(const struct box *box, const char *path);

/* True when the box has any writable grant. */
bool mounts_any_writable(const struct box *box);

/* The writable grant that shows the object at `path` on the host, at this or any other path, or NULL. `path`
 * need not exist; its directory's path is real. The server may have put there what is there. */
const struct mount *mounts_find_writable(const struct resolver *resolver, const char *path);

/* The writable grant that contains the link at `place` while `real`, to which the link leads, is outside of
 * that grant; or NULL. The server may have made such a link in an earlier run. */
const struct mount *mounts_find_left(const struct resolver *resolver, const char *place, const char *real);

/* The writable grant that a link on the walked way leads out of, or NULL. */
const struct mount *mounts_find_escape(const struct resolver *resolver, const struct walked *walked);

/* The writable grant through which the server may have decided what is at `path` (absolute and normal): it
 * contains the object, or, with *by_link, a link on the way that leads out of it. Every path through a
 * writable grant ends in one of the two cases. NULL when there is none. */
const struct mount *mounts_find_author(const struct resolver *resolver, const char *path, bool *by_link);

#endif
