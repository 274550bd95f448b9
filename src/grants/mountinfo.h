/* SPDX-License-Identifier: Apache-2.0
 *
 * Which parts of which file systems the grants show. One object may have several paths on the host, by bind
 * mounts; in its file system it has one place, which this module compares.
 */
#ifndef HUTCH_GRANTS_MOUNTINFO_H
#define HUTCH_GRANTS_MOUNTINFO_H

#include "box/box.h"

struct mountinfo_part {
        uint32_t device; /* as the kernel numbers it within: major << 20 | minor */
        char *base;      /* a directory's place in its file system */
        char *path;      /* and where the host shows it, in or as a grant */
        bool silent;     /* a program or another computer answers for it, or does not, and no grant leads into
                          * it, so that nobody asked hutch to wait */
};

struct mountinfo {
        struct mountinfo_part *mounts; /* all of the host, in the order of mounting */
        size_t mount_count;
        struct mountinfo_part *grants; /* what the grants show of them */
        size_t grant_count;
};

/* Reads the list of mounts. Zero *regions to begin; mountinfo_free() in every case. */
bool mountinfo_read(struct mountinfo *regions, const struct box *box, struct error *error);

/* True when a grant shows something of that file system. */
bool mountinfo_have_device(const struct mountinfo *regions, uint32_t device);

/* True when every part of it that a grant shows is silent. */
bool mountinfo_device_is_silent(const struct mountinfo *regions, uint32_t device);

/* Adds the paths of the silent mounts below the directory `real` (real). Looking into one may take for ever.
 */
void mountinfo_list_silent(const struct mountinfo *regions, const char *real, struct str_list *paths);

/* True when the path, taken as it is written, leads into a silent mount. */
bool mountinfo_is_silent(const struct mountinfo *regions, const char *path);

/* Adds all paths, in grants, of the object at the real path `real`. */
void mountinfo_find(const struct mountinfo *regions, const char *real, struct str_list *paths);

/* Adds the real paths, other than `real` itself, where a mount of the box shows the object at the real path
 * `real`, or, when that is a directory, a part of it that is mounted there. */
bool mountinfo_find_others(const struct box *box, const char *real, struct str_list *paths,
                           struct error *error);

void mountinfo_free(struct mountinfo *regions);

/* Adds to `paths` the other paths at which the host shows the object at `real`, by bind mounts, whether a
 * grant holds it or not. */
bool mountinfo_list_names(const char *real, struct str_list *paths, struct error *error);

#endif
