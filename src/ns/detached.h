/* SPDX-License-Identifier: Apache-2.0
 *
 * Detached mounts: clones of host objects, and new file systems. What is restricted and compared before it is
 * attached cannot change in between.
 */
#ifndef HUTCH_NS_DETACHED_H
#define HUTCH_NS_DETACHED_H

#include "ns/entering.h"

/* Opens the host object at the real path `path`, without following a link. Fails unless it is the object that
 * was judged. */
int detached_open_source(const struct entering *entering, const char *path, int flags, dev_t device,
                         ino_t inode);

/* Clones mount->source with everything mounted below it. The clone is the object that was judged, private,
 * NOSUID, NODEV, and read-only unless the mount is writable. The caller closes it. */
int detached_clone(const struct entering *entering, const struct mount *mount);

/* Gives the tree these attributes (MOUNT_ATTR_*), and makes it private. */
void detached_restrict(const struct entering *entering, enum stage stage, const char *path, int tree,
                       uint64_t attributes);

struct file_system_option {
        const char *name, *value; /* `value` NULL: a flag */
};

/* Makes a file system with these options, which end with a NULL name. The caller closes it. */
int detached_make(const struct entering *entering, enum stage stage, const char *path, const char *type,
                  const struct file_system_option *options, unsigned attributes);

#endif
