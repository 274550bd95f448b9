/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks a path of the host once, and keeps what it led to. A decision about a path, the mount that follows
 * from it and the sentence that explains it then speak of one object, whoever renames files meanwhile. It
 * must never open an object itself: O_PATH has no effect on devices and fifos.
 *
 * Theory of operation. Each path is walked at most once by one walker; a second question gets the first
 * answer. openat2(2) walks a path without links in one call. Where it meets a link (ELOOP), or where the
 * kernel or a container's filter does not have it (ENOSYS), the walker reads one component after the other,
 * as path_resolution(7) describes. The descriptor stays open until the walker is released, because the kernel
 * may give the inode number of a removed object to another one, and whoever compares device and inode later
 * would not notice.
 */
#ifndef HUTCH_LIB_PATH_WALK_H
#define HUTCH_LIB_PATH_WALK_H

#include "lib/str.h"

#include <sys/stat.h>

/* What one path led to. The walker owns all of it. */
struct walked {
        char *path;         /* as it was asked for */
        int problem;        /* 0, or the errno that ended the walk */
        char *real;         /* the real path of the object, in which no component is a link; or NULL */
        int descriptor;     /* O_PATH; -1 where `real` is NULL, and where the walker keeps none */
        struct stat status; /* of the object: device, inode, owner, mode. Valid where `problem` is 0 */
        struct str_list
            links; /* every symbolic link on the way, as far as the path exists: an absolute path */
        struct str_list texts;  /* whose directory is real; and the text of each link */
        bool shares_descriptor; /* with an earlier walk to the same object */
};

/* Zero it to begin. */
struct walker {
        void *by_path, *by_real;  /* the answers, as trees of tsearch(3) */
        bool keeps_no_descriptor; /* for thousands of paths of which nothing is mounted */
};

/* Walks `path` (absolute). `..` behind a link means the directory above the link's target. */
const struct walked *path_walk(struct walker *walker, const char *path);

/* The real path of `path` (absolute), or NULL where it does not exist. The walker owns it. */
const char *path_walk_real(struct walker *walker, const char *path);

/* True when `path` (absolute) leads to a directory. */
bool path_walk_is_directory(struct walker *walker, const char *path);

/* The real path that `path` (absolute) has, or would have if what is missing were created: that of the
 * nearest existing directory, and the rest as it is. The caller frees. */
char *path_walk_missing(struct walker *walker, const char *path);

/* The same for one question, without a walker. */
char *real_path_of_missing(const char *path);

/* Closes every descriptor and forgets every answer. */
void walker_release(struct walker *walker);

/* Opens a real path below `directory`, or an absolute one, with O_CLOEXEC and without following a link. -1
 * with errno; ELOOP where a component is a link by now. */
int real_path_open(int directory, const char *real, int flags);

/* The real path of the object that `descriptor` is open on, which the caller frees, or NULL with errno. */
char *real_path_of_descriptor(int descriptor);

#endif
