/* SPDX-License-Identifier: Apache-2.0
 *
 * Which host objects a sandbox sees, and where: judged by real path, recorded with device and inode, ordered
 * so that the most specific place wins whatever the order of the options.
 */
#ifndef HUTCH_BOX_MOUNTS_H
#define HUTCH_BOX_MOUNTS_H

#include "box/box.h"

/* O_PATH descriptors of everything that was judged, kept until the sandbox has compared: while one is open,
 * the inode's number cannot be given to another object. Zero it to begin. */
struct held_sources {
        int *descriptors;
        size_t count;
        struct watched_folder *watched; /* protect.h: kept until the end of the run */
        size_t watched_count;
};
void held_sources_release(struct held_sources *held);

/* What every sandbox on the host tree has: the programs and libraries of the machine, an /etc of its own,
 * proc, devices, and the writable places in memory. box->home must be set. */
bool mounts_add_base(struct box *box, struct held_sources *held, struct error *error);

/* What the person asked for. `path` is absolute and normal; `destination` NULL means the same path, by both
 * its spelling and its real path (links on the way are made inside as they are on the host). Status 125 when
 * it does not exist, cannot be opened, or would void the sandbox. */
bool mounts_add_grant(struct box *box, struct held_sources *held, const char *path, const char *destination,
                      bool writable, const char *why, struct error *error);

/* The same for a folder whose changes are to vanish: only reading it is granted. */
bool mounts_add_overlay(struct box *box, struct held_sources *held, const char *path, const char *destination,
                        struct error *error);

/* Appends a clone of the host object at `real`, which was judged by the caller. */
bool mounts_add_bind(struct box *box, struct held_sources *held, const char *real, const char *destination,
                     bool writable, const char *why, struct error *error);

/* True when the mount shows a part of the host that the person, or the command, named. */
bool mounts_is_grant(const struct mount *mount);

/* Where `mount` would show the host object `real`, which its source holds or is. The caller frees. */
char *mounts_place(const struct mount *mount, const char *real);

/* What the command itself needs, read-only: skipped when the box already shows it at that path. */
bool mounts_add_program(struct box *box, struct held_sources *held, const char *path, const char *why,
                        struct error *error);

/* A symbolic link, unless something is at that place already. */
void mounts_add_link(struct box *box, const char *destination, const char *text, const char *why);

/* Sorts by depth, links last: a mount never hides one that is more specific, and no link is on the way to a
 * mount point while mounts are made. Equals keep their order. */
void mounts_sort(struct box *box);

/* True when `path` inside shows the host object of the same path. */
bool mounts_show(const struct box *box, const char *path);

/* Where the caller's keys may be. */
struct caller_homes {
        char *spelled;        /* $HOME, or the user database's: absolute and normal; "" when there is none */
        struct str_list real; /* real paths: of $HOME, of the database's, and for root of everybody's */
};
const struct caller_homes *caller_homes(void);

#endif
