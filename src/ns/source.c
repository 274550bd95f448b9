/* SPDX-License-Identifier: Apache-2.0
 *
 * See source.h.
 */
#include "ns/source.h"

#include "lib/fd.h"
#include "lib/path_walk.h"
#include "ns/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

int source_clone(const struct entering *entering, const struct mount *mount)
{
        struct stat status;
        /* The supervisor judged the path before the clone, and whoever can rename there may have replaced the
         * object, or a directory on the way, since. The kernel mounts no descriptor of the supervisor's mount
         * namespace in this one (EINVAL), so the path is walked once more, without a link. This descriptor
         * cannot be replaced, so the comparison is final. */
        autoclose int object =
            real_path_open(AT_FDCWD, mount->source, O_PATH | (mount->is_directory ? O_DIRECTORY : 0));
        if (object < 0 && (errno == ELOOP || errno == ENOTDIR))
                entering_fail(entering, STAGE_SWAPPED, errno, mount->source);
        if (object < 0 || fstat(object, &status) < 0)
                entering_fail(entering, STAGE_SOURCE, errno, mount->source);
        if (status.st_dev != mount->device || status.st_ino != mount->inode)
                entering_fail(entering, STAGE_SWAPPED, ESTALE, mount->source);
        int tree = open_tree(object, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH);
        if (tree < 0)
                entering_fail(entering, STAGE_SOURCE, errno, mount->source);

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
