/* SPDX-License-Identifier: Apache-2.0
 *
 * See detached.h.
 */
#include "ns/detached.h"

#include "lib/fd.h"
#include "lib/path_walk.h"
#include "ns/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

int detached_open_source(const struct entering *entering, const char *path, int flags, dev_t device,
                         ino_t inode)
{
        struct stat status;
        int object = real_path_open(AT_FDCWD, path, flags);
        /* A link, a file in place of a directory, or a fifo that nobody reads: none of these was judged. */
        if (object < 0 && (errno == ELOOP || errno == ENOTDIR || errno == ENXIO))
                entering_fail(entering, STAGE_SWAPPED, errno, path);
        if (object < 0 || fstat(object, &status) < 0)
                entering_fail(entering, STAGE_SOURCE, errno, path);
        if (status.st_dev != device || status.st_ino != inode)
                entering_fail(entering, STAGE_SWAPPED, ESTALE, path);
        return object;
}

int detached_clone(const struct entering *entering, const struct mount *mount)
{
        /* The supervisor judged the path before the clone, and whoever can rename there may have replaced the
         * object, or a directory on the way, since. The kernel mounts no descriptor of the supervisor's mount
         * namespace in this one (EINVAL), so the path is walked once more, without a link. This descriptor
         * cannot be replaced, so the comparison is final. */
        autoclose int object =
            detached_open_source(entering, mount->source, O_PATH | (mount->is_directory ? O_DIRECTORY : 0),
                                 mount->device, mount->inode);
        int tree = entering_check(
            entering, STAGE_SOURCE, mount->source,
            open_tree(object, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH));
        detached_restrict(entering, STAGE_MOUNT, mount->source, tree,
                          MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                              (mount->writable || !layer_enabled(LAYER_READ_ONLY) ? 0 : MOUNT_ATTR_RDONLY));
        return tree;
}

void detached_restrict(const struct entering *entering, enum stage stage, const char *path, int tree,
                       uint64_t attributes)
{
        struct mount_attr change = {
            .attr_set = attributes,
            /* Private before the tree is attached. A shared one would receive what the host mounts below it
             * later, with the host's flags: writable. */
            .propagation = MS_PRIVATE,
        };
        entering_check(entering, stage, path,
                       mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &change, sizeof(change)));
}

int detached_make(const struct entering *entering, enum stage stage, const char *path, const char *type,
                  const struct file_system_option *options, unsigned attributes)
{
        autoclose int context = entering_check(entering, stage, path, fsopen(type, FSOPEN_CLOEXEC));
        for (; options->name; options++)
                entering_check(entering, stage, path,
                               fsconfig(context, options->value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG,
                                        options->name, options->value, 0));
        entering_check(entering, stage, path, fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0));
        return entering_check(entering, stage, path, fsmount(context, FSMOUNT_CLOEXEC, attributes));
}
