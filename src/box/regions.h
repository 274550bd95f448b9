/* SPDX-License-Identifier: Apache-2.0
 *
 * Which parts of which file systems the grants show. One object may have several paths on the host, by bind
 * mounts; in its file system it has one place, which this module compares.
 */
#ifndef HUTCH_BOX_REGIONS_H
#define HUTCH_BOX_REGIONS_H

#include "box/box.h"

struct region {
        uint32_t device; /* as the kernel numbers it within: major << 20 | minor */
        char *base;      /* a folder's place in its file system */
        char *path;      /* and where the host shows it, in or as a grant */
        bool silent;     /* a program or another computer answers for it, or does not, and no grant leads into
                          * it, so that nobody asked hutch to wait */
};

struct regions {
        struct region *mounts; /* all of the host, in the order of mounting */
        size_t mount_count;
        struct region *grants; /* what the grants show of them */
        size_t grant_count;
};

/* Reads the list of mounts. Zero *regions to begin; regions_free() in every case. */
bool regions_read(struct regions *regions, const struct box *box, struct error *error);

/* True when a grant shows something of that file system. */
bool regions_have_device(const struct regions *regions, uint32_t device);

/* True when every part of it that a grant shows is silent. */
bool regions_device_is_silent(const struct regions *regions, uint32_t device);

/* Adds the paths of the silent mounts below the folder `real` (real). Looking into one may take for ever. */
void regions_list_silent(const struct regions *regions, const char *real, struct str_list *paths);

/* True when the path, taken as it is written, leads into a silent mount. */
bool regions_is_silent(const struct regions *regions, const char *path);

/* Adds all paths, in grants, of the object at the real path `real`. */
void regions_find(const struct regions *regions, const char *real, struct str_list *paths);

/* Adds the real paths, other than `real` itself, where a mount of the box shows the object at the real path
 * `real`, or, when that is a folder, a part of it that is mounted there. */
bool regions_find_others(const struct box *box, const char *real, struct str_list *paths,
                         struct error *error);

void regions_free(struct regions *regions);

/* Adds to `paths` the other paths at which the host shows the object at `real`, by bind mounts, whether a
 * grant holds it or not. */
bool regions_list_names(const char *real, struct str_list *paths, struct error *error);

#endif
