/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths without links: which links a path leads through, and opening a path on which no link may be.
 */
#ifndef HUTCH_LIB_REAL_PATH_H
#define HUTCH_LIB_REAL_PATH_H

#include "lib/str.h"

/* The symbolic links that a path led through. */
struct path_links {
        struct str_list places; /* absolute, their directory's path real */
        struct str_list texts;
};

void real_path_free_links(struct path_links *links);

/* Adds every symbolic link on the way from "/" to `path` to `links`, and returns the real path, which the
 * caller frees. NULL with errno when it does not exist or cannot be reached. */
char *real_path_resolve(const char *path, struct path_links *links);

/* The real path of what is open, which the caller frees, or NULL with errno. */
char *real_path_of_descriptor(int descriptor);

/* The real path of something that need not exist: that of the nearest directory above that does, and the
 * rest. The caller frees. */
char *real_path_of_missing(const char *path);

/* Opens a real path, on which any link was put after it was judged. A descriptor, or -1 with errno. */
int real_path_open(const char *real, int flags);

/* `places` becomes every symbolic link that `path` (absolute and normal) leads through, as far as it exists,
 * each by its directory's real path. */
void real_path_list_links(const char *path, struct str_list *places);

#endif
