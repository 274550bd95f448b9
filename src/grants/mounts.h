/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of mounts of a box: host objects by real path, device and inode, and questions about what the list
 * shows. Whether the user may grant an object is decided in grants.h. This module never opens an object for
 * reading and never creates anything.
 */
#ifndef HUTCH_GRANTS_MOUNTS_H
#define HUTCH_GRANTS_MOUNTS_H

#include "box/box.h"
#include "grants/held_sources.h"

/* Appends a mount of the host object at the real path `real`, which the caller has judged, and holds it in
 * `held`. Status 125 when it cannot be opened. */
bool mounts_add_bind(struct box *box, struct held_sources *held, const char *real, const char *destination,
                     bool writable, struct mount_reason reason, struct error *error);

/* Appends a symbolic link, unless the box has a mount at exactly that place. */
void mounts_add_link(struct box *box, const char *destination, const char *text, struct mount_reason reason);

/* Returns the real path of `path`, which the caller frees, or NULL with errno. Adds the links on the way, so
 * that the path means the same inside. */
char *mounts_repeat_links(struct box *box, const char *path, struct mount_reason reason);

/* Mounts the host directory at `real`, which hutch made, writable in place of the memory at `destination`. */
bool mounts_replace_memory(struct box *box, struct held_sources *held, const char *real,
                           const char *destination, struct mount_reason reason, struct error *error);

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
const struct mount *mounts_find_writable(const struct box *box, const char *path);

/* The writable grant that contains the link at `place` while `real`, to which the link leads, is outside of
 * that grant; or NULL. The server may have made such a link in an earlier run. */
const struct mount *mounts_find_left(const struct box *box, const char *place, const char *real);

/* Returns the real path of `path` (absolute and normal), which the caller frees, or NULL with errno. *left
 * becomes the writable grant that a link on the way leads out of, or NULL. */
char *mounts_resolve(const struct box *box, const char *path, const struct mount **left);

#endif
