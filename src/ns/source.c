/* SPDX-License-Identifier: Apache-2.0
 *
 * See source.h.
 */
#include "ns/source.h"

#include "ns/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

int source_clone(const struct entering *entering, const struct mount *mount)
{
        struct stat status;
        int tree = open_tree(AT_FDCWD, mount->source,
                             OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW);
        if (tree < 0 || fstat(tree, &status) < 0)
                entering_fail(entering, STAGE_SOURCE, errno, mount->source);
        /* The supervisor judged the path before the clone, and whoever can rename there may have replaced the
         * object since. The clone cannot be replaced, so this comparison is final. */
        if (status.st_dev != mount->device || status.st_ino != mount->inode)
                entering_fail(entering, STAGE_SWAPPED, ESTALE, mount->source);

        struct mount_attr attributes = {
            .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                        (mount->writable || !layer_enabled(LAYER_READ_ONLY) ? 0 : MOUNT_ATTR_RDONLY),
            /* Private before the tree is attached. A shared one would receive what the host mounts below it
             * later, with the host's flags: writable. */
            .propagation = MS_PRIVATE,
        };
        if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof(attributes)) < 0)
                entering_fail(entering, STAGE_MOUNT, errno, mount->source);
        return tree;
}
