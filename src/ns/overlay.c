/* SPDX-License-Identifier: Apache-2.0
 *
 * See overlay.h. The lower directory is the host's, the upper an empty one of the sandbox's memory. The
 * host's directory must never be written to, nor stay reachable except through the overlay.
 *
 * overlayfs takes names in options, where comma, colon and backslash have a meaning, and it takes attached
 * mounts only. So the clone of the host's directory is attached in the memory file system, beside the two
 * others, under a name of digits. overlayfs makes a private clone of it, and this one is unmounted.
 */
#include "ns/overlay.h"

#include "lib/fd.h"
#include "ns/detached.h"

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
        entering_check(entering, STAGE_MEMORY_FS, name, mkdirat(memory, name, 0755));
}

int overlay_make(const struct entering *entering, int memory, size_t index)
{
        const struct mount *mount = &entering->box->mounts[index];
        char lower[NAME_SIZE], upper[NAME_SIZE], work[NAME_SIZE];
        make_directory(entering, memory, lower, index, "lower");
        make_directory(entering, memory, upper, index, "upper");
        make_directory(entering, memory, work, index, "work");

        autoclose int source = detached_clone(entering, mount);
        /* The root of the overlay has the mode of the upper directory. */
        struct stat status;
        if (fstat(source, &status) < 0 || fchmodat(memory, upper, status.st_mode & 07777, 0) < 0)
                entering_fail(entering, STAGE_MEMORY_FS, errno, upper);
        if (move_mount(source, "", memory, lower, MOVE_MOUNT_F_EMPTY_PATH) < 0 || fchdir(memory) < 0)
                entering_fail(entering, STAGE_OVERLAY, errno, mount->source);

        const struct file_system_option options[] = {
            {"lowerdir", lower}, {"upperdir", upper}, {"workdir", work},
            {"userxattr", NULL}, /* overlayfs marks its files with attributes that an ordinary user may set */
            {NULL, NULL},
        };
        int tree = detached_make(entering, STAGE_OVERLAY, mount->source, "overlay", options,
                                 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
        entering_check(entering, STAGE_OVERLAY, mount->source, umount2(lower, MNT_DETACH));
        return tree;
}
