/* SPDX-License-Identifier: Apache-2.0
 *
 * Which host objects a sandbox sees, and where: judged by real path, recorded with device and inode, ordered
 * so that the most specific place wins whatever the order of the options.
 */
#ifndef HUTCH_GRANTS_MOUNTS_H
#define HUTCH_GRANTS_MOUNTS_H

#include "box/box.h"

#include <sys/stat.h>

/* O_PATH descriptors of everything that was judged, kept until the sandbox has compared: while one is open,
 * the inode's number cannot be given to another object. Zero it to begin. */
struct held_sources {
        int *descriptors;
        size_t count;
        struct str_list unsafe; /* real paths that --unsafe-grant named */
        struct str_list links; /* every link that a grant's path led through, and beside it in `reached`… */
        struct str_list reached;           /* …the real path that it led to */
        struct watched_directory *watched; /* protect.h: kept until the end of the run */
        size_t watched_count;
};
void held_sources_release(struct held_sources *held);

/* Lets mounts_add_grant() grant what is at `path` (absolute and normal) although that voids the sandbox. */
void mounts_permit_unsafe(struct held_sources *held, const char *path);

/* What the person asked for, by the option `why`. `path` is absolute and normal; `destination` NULL means the
 * same path, by both its spelling and its real path (links on the way are made inside as they are on the
 * host). Status 125 when it does not exist, cannot be opened, or would void the sandbox. */
bool mounts_add_grant(struct box *box, struct held_sources *held, const char *path, const char *destination,
                      bool writable, const char *why, struct error *error);

/* Judges one file that is to be copied in as a grant for reading is judged, and holds it. *real becomes its
 * real path, which the caller frees in every case, and *status what it is. Status 125 as above. */
bool mounts_judge_file(struct box *box, struct held_sources *held, const char *path, const char *why,
                       char **real, struct stat *status, struct error *error);

/* Once all grants are added: refuses a link, on the way of one of them, that lies in a writable grant and
 * leads out of it. The server may have made it in an earlier run. */
bool mounts_check_links(const struct box *box, const struct held_sources *held, struct error *error);

/* An empty, writable directory in memory at `path` inside (absolute and normal), after the grants were added.
 * `bytes` as in struct mount. Status 125 when it would hide the sandbox's own /usr, /proc or /dev. */
bool mounts_add_memory(struct box *box, const char *path, uint64_t bytes, const char *why,
                       struct error *error);

/* The real path of `path` (absolute and normal), which the caller frees, or NULL with errno. *left becomes
 * the writable grant out of which a link on the way leads, if there is one: the server may have made that
 * link. */
char *mounts_resolve(const struct box *box, const char *path, const struct mount **left);

/* True when the box has any writable grant. */
bool mounts_any_writable(const struct box *box);

/* The writable grant that is, or holds, what is at `path` (its directory's path real), wherever the host
 * shows it; or NULL. The server may have put there what is there. */
const struct mount *mounts_find_writable(const struct box *box, const char *path);

/* The same for a directory whose changes are to vanish: only reading it is granted. */
bool mounts_add_overlay(struct box *box, struct held_sources *held, const char *path, const char *destination,
                        struct error *error);

/* Appends a clone of the host object at `real`, which was judged by the caller. */
bool mounts_add_bind(struct box *box, struct held_sources *held, const char *real, const char *destination,
                     bool writable, const char *why, struct error *error);

/* Puts a directory of hutch's own, writable, in the place of the memory at `destination`. */
bool mounts_replace_memory(struct box *box, struct held_sources *held, const char *real,
                           const char *destination, const char *why, struct error *error);

/* Where `mount` would show the host object `real`, which its source holds or is. The caller frees. */
char *mounts_place(const struct mount *mount, const char *real);

/* Where `path` inside leads by the box's own links: /bin/x is /usr/bin/x where /bin is one. The caller frees.
 */
char *mounts_follow_inside(const struct box *box, const char *path);

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

/* Why granting a real path would void the sandbox, by every home the caller has; or NULL. */
const char *mounts_find_sensitive(const char *real_path, bool writable);

/* The mount whose destination is exactly this, or NULL. */
struct mount *mounts_find_exact(const struct box *box, const char *destination);

/* The real path of `path`, which the caller frees, or NULL with errno; adds the links that lead there, so
 * that the path means the same inside. */
char *mounts_repeat_links(struct box *box, const char *path, const char *why);

#endif
