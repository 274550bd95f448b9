/* SPDX-License-Identifier: Apache-2.0
 *
 * Which parts of which file systems the grants show. Bind mounts can give one object several paths on the
 * host; it has one place in its file system, and this module compares places.
 */
#ifndef HUTCH_GRANTS_MOUNTINFO_H
#define HUTCH_GRANTS_MOUNTINFO_H

#include "box/box.h"

#include <sys/stat.h>

/* A mount of the host, or the part of one that a grant shows. */
struct mountinfo_part {
        uint32_t device; /* in the kernel's own encoding: major << 20 | minor */
        char *base;      /* the place in the file system, */
        char *path;      /* and the path at which the host shows it */
        bool silent;     /* a program or another computer serves it and may never answer, and the user granted
                          * nothing in it, so that hutch must not wait for it */
};

struct mountinfo {
        struct mountinfo_part *mounts; /* of the host, in the order of mounting */
        size_t mount_count;
        struct mountinfo_part *grants; /* the parts of them that the grants show */
        size_t grant_count;
};

/* Reads the mounts of the host and adds the directories that `box` grants. Zero *info to begin, and call
 * mountinfo_free() in every case. */
bool mountinfo_read(struct mountinfo *info, const struct box *box, struct error *error);

void mountinfo_free(struct mountinfo *info);

/* Adds the mounts in `text`, which has the format of /proc/self/mountinfo. Changes the text. */
void mountinfo_parse(struct mountinfo *info, char *text);

/* Adds the grant of the directory at the real path `source`. */
void mountinfo_add_grant(struct mountinfo *info, const char *source);

/* True when a grant shows something of that file system. */
bool mountinfo_have_device(const struct mountinfo *info, uint32_t device);

/* True when `path`, taken as text, leads into a silent mount. */
bool mountinfo_is_silent(const struct mountinfo *info, const char *path);

/* Adds all paths, in grants, of the object at the real path `real`. */
void mountinfo_find(const struct mountinfo *info, const char *real, struct str_list *paths);

/* Adds the other real paths where a mount of the box shows the object at the real path `real`, and, when that
 * is a directory, those where the host mounts a part of it. */
bool mountinfo_find_others(const struct box *box, const char *real, struct str_list *paths,
                           struct error *error);

/* The same for a list of mounts that was read before, to which it adds the mounts of `box`, and an object
 * with the status `wanted`. */
void mountinfo_find_in(struct mountinfo *info, const struct box *box, const char *real,
                       const struct stat *wanted, struct str_list *paths);

/* Adds the other paths at which the host shows the object at the real path `real`, in a grant or not. */
bool mountinfo_list_names(const char *real, struct str_list *paths, struct error *error);

/* The same for a list of mounts that was read before. */
void mountinfo_list_in(const struct mountinfo *info, const char *real, struct str_list *paths);

#endif
