/* SPDX-License-Identifier: Apache-2.0
 *
 * Real paths, in which no component is a symbolic link: how a path resolves to one, through which links, and
 * opening one without following a link.
 */
#ifndef HUTCH_LIB_REAL_PATH_H
#define HUTCH_LIB_REAL_PATH_H

#include "lib/str.h"

/* The symbolic links that a path leads through. Zero it to begin. */
struct path_links {
        struct str_list places; /* absolute, with a real directory */
        struct str_list texts;  /* what each contains */
};

void real_path_free_links(struct path_links *links);

/* Returns the real path of `path` (absolute), which the caller frees, and adds every symbolic link on the way
 * to `links`. NULL with errno when it does not exist or cannot be reached. */
char *real_path_resolve(const char *path, struct path_links *links);

/* The real path of the object that `descriptor` is open on, which the caller frees, or NULL with errno. */
char *real_path_of_descriptor(int descriptor);

/* The real path of `path` (absolute), which need not exist: that of the nearest existing component, and the
 * rest as it is. The caller frees. */
char *real_path_of_missing(const char *path);

/* Opens a real path, with O_CLOEXEC. -1 with errno; ELOOP where a component is a link by now. */
int real_path_open(const char *real, int flags);

/* *places becomes every symbolic link that `path` (absolute) leads through, as far as it exists, each with a
 * real directory. */
void real_path_list_links(const char *path, struct str_list *places);

#endif
