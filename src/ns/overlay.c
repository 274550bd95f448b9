/* SPDX-License-Identifier: Apache-2.0
 *
 * --overlay: a directory of the host below, an empty directory of the sandbox's memory above. It must never
 * write to the directory below, nor leave it reachable by another way than the overlay.
 *
 * The kernel reads the directories' names from options in which comma, colon and backslash mean something,
 * and wants mounts that are attached. So the clone of the host's directory is attached beside the two others
 * in the memory file system, under a name of digits; overlayfs keeps a private clone, and that one is let go.
 */
#include "lib/fd.h"
#include "ns/entering.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

enum { NAME_SIZE = 32 };

static void make_directory(const struct entering *entering, int memory, char *name, size_t index,
                           const char *role)
{
        snprintf(name, NAME_SIZE, "%zu-%s", index, role);
        if (mkdirat(memory, name, 0755) < 0)
                entering_fail(entering, STAGE_MEMORY_FS, errno, name);
}

/* The directory above is what the overlay's own root is: its mode must be the host's. */
static void copy_mode(const struct entering *entering, int lower, int memory, const char *upper)
{
        struct stat status;
        if (fstat(lower, &status) < 0 || fchmodat(memory, upper, status.st_mode & 07777, 0) < 0)
                entering_fail(entering, STAGE_MEMORY_FS, errno, upper);
}

int overlay_make(const struct entering *entering, int memory, size_t index)
{
        const struct mount *mount = &entering->box->mounts[index];
        char lower[NAME_SIZE], upper[NAME_SIZE], work[NAME_SIZE];
        make_directory(entering, memory, lower, index, "lower");
        make_directory(entering, memory, upper, index, "upper");
        make_directory(entering, memory, work, index, "work");

        autoclose int source = rootfs_clone_source(entering, mount);
        copy_mode(entering, source, memory, upper);
        if (move_mount(source, "", memory, lower, MOVE_MOUNT_F_EMPTY_PATH) < 0 || fchdir(memory) < 0)
                entering_fail(entering, STAGE_OVERLAY, errno, mount->source);

        autoclose int context = fsopen("overlay", FSOPEN_CLOEXEC);
        /* userxattr: the attributes in which overlayfs keeps its notes are those that a user may set. */
        if (context < 0 || fsconfig(context, FSCONFIG_SET_STRING, "lowerdir", lower, 0) < 0 ||
            fsconfig(context, FSCONFIG_SET_STRING, "upperdir", upper, 0) < 0 ||
            fsconfig(context, FSCONFIG_SET_STRING, "workdir", work, 0) < 0 ||
            fsconfig(context, FSCONFIG_SET_FLAG, "userxattr", NULL, 0) < 0 ||
            fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
                entering_fail(entering, STAGE_OVERLAY, errno, mount->source);
        int tree = fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
        if (tree < 0 || umount2(lower, MNT_DETACH) < 0)
                entering_fail(entering, STAGE_OVERLAY, errno, mount->source);
        return tree;
}
