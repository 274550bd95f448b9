/* SPDX-License-Identifier: Apache-2.0
 *
 * See mount_point.h.
 *
 * A destination is in one of two places. With no mount above it, it is in the root's own tmpfs, where hutch
 * made everything, and a path from the root can be trusted. Below a mount, others may have made what is
 * there, so openat2(2) resolves the path without following a link.
 */
#include "ns/mount_point.h"

#include "lib/fd.h"
#include "lib/path_walk.h"
#include "lib/str.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

bool mount_point_is_in_root(const struct box *box, const char *destination)
{
        /* No link is above the destination either: the box lists links last, because the host's root would
         * resolve the text of a link. */
        for (size_t i = 0; i < box->mount_count; i++) {
                const struct mount *mount = &box->mounts[i];
                if (mount->kind != MOUNT_LINK && mount->kind != MOUNT_FILE &&
                    path_is_below(destination, mount->destination) &&
                    !str_equal(destination, mount->destination))
                        return false;
        }
        return true;
}

static const char *relative(const char *destination)
{
        return destination[1] ? destination + 1 : ".";
}

/* Makes the directories above a place of the root's own tmpfs. */
static void make_parents(const struct entering *entering, const char *destination)
{
        autofree char *path = str_copy(destination);
        for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = 0;
                if (mkdirat(entering->root, relative(path), 0755) < 0 && errno != EEXIST)
                        entering_fail(entering, STAGE_MOUNT_POINT, errno, destination);
                *slash = '/';
        }
}

static int make_empty(int parent, const char *name, bool directory)
{
        return directory ? mkdirat(parent, name, 0755) : mknodat(parent, name, S_IFREG | 0444, 0);
}

/* Makes a mount point in the root's own tmpfs, unless it exists. */
static void make_point(const struct entering *entering, const char *destination, bool directory)
{
        int made = make_empty(entering->root, relative(destination), directory);
        if (made < 0 && errno == ENOENT) {
                make_parents(entering, destination);
                made = make_empty(entering->root, relative(destination), directory);
        }
        if (made < 0 && errno != EEXIST)
                entering_fail(entering, STAGE_MOUNT_POINT, errno, destination);
}

/* True when the descriptor's file is in one of the sandbox's memory file systems. */
static bool is_memory(const struct entering *entering, int descriptor)
{
        struct stat status;
        if (fstat(descriptor, &status) < 0)
                return false;
        for (size_t i = 0; i < entering->device_count; i++)
                if (status.st_dev == entering->devices[i])
                        return true;
        return false;
}

int mount_point_open(const struct entering *entering, const char *destination, int flags)
{
        /* A link below a mount must not decide where something is attached. */
        return real_path_open(entering->root, relative(destination), O_PATH | flags);
}

/* Opens the directory `parent`/`name`, and makes it when `parent` is in the sandbox's memory. */
static int open_or_make(const struct entering *entering, int parent, const char *name,
                        const char *destination)
{
        int next = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next >= 0 || errno != ENOENT)
                return next;
        if (!is_memory(entering, parent))
                entering_fail(entering, STAGE_MOUNT_POINT, ENOENT, destination);
        if (mkdirat(parent, name, 0755) < 0)
                return -1;
        return openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Opens the directory that holds `destination` and makes what is missing of it. *name is set to the last
 * component of the path. */
static int open_parent(const struct entering *entering, const char *destination, const char **name)
{
        *name = strrchr(destination, '/') + 1;
        autofree char *parent = path_parent(destination);
        int directory = mount_point_open(entering, parent, O_DIRECTORY);
        if (directory >= 0)
                return directory;

        directory = mount_point_open(entering, "/", O_DIRECTORY);
        for (char *rest = parent + 1, *component; directory >= 0 && (component = strsep(&rest, "/"));) {
                int next = open_or_make(entering, directory, component, destination);
                close(directory);
                directory = next;
        }
        entering_check(entering, STAGE_MOUNT_POINT, destination, directory);
        return directory;
}

/* Opens a mount point below another mount with O_PATH. A missing one is made in the sandbox's memory only. */
static int open_below_mount(const struct entering *entering, const char *destination, bool directory)
{
        int point = mount_point_open(entering, destination, 0);
        if (point >= 0)
                return point;
        if (errno != ENOENT)
                entering_fail(entering, STAGE_MOUNT_POINT, errno, destination);

        const char *name;
        autoclose int parent = open_parent(entering, destination, &name);
        if (!is_memory(entering, parent))
                entering_fail(entering, STAGE_MOUNT_POINT, ENOENT, destination);
        entering_check(entering, STAGE_MOUNT_POINT, destination, make_empty(parent, name, directory));
        return entering_check(entering, STAGE_MOUNT_POINT, destination,
                              openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

void mount_point_attach(const struct entering *entering, int tree, const char *destination, bool directory)
{
        int moved;
        if (mount_point_is_in_root(entering->box, destination)) {
                make_point(entering, destination, directory);
                moved = move_mount(tree, "", entering->root, relative(destination), MOVE_MOUNT_F_EMPTY_PATH);
        } else {
                autoclose int point = open_below_mount(entering, destination, directory);
                moved = move_mount(tree, "", point, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
        }
        entering_check(entering, STAGE_MOUNT, destination, moved);
}

void mount_point_make_link(const struct entering *entering, const struct mount *mount)
{
        const char *name;
        struct stat status;
        autoclose int parent = open_parent(entering, mount->destination, &name);
        /* A granted directory already has the host's own link, and elsewhere a mount takes the place. */
        if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0)
                return;
        if (!is_memory(entering, parent))
                entering_fail(entering, STAGE_MOUNT_POINT, ENOENT, mount->destination);
        entering_check(entering, STAGE_MOUNT_POINT, mount->destination,
                       symlinkat(mount->source, parent, name));
}

void mount_point_make_file(const struct entering *entering, const struct mount *mount)
{
        /* Below a grant this would write to the host. */
        if (!mount_point_is_in_root(entering->box, mount->destination))
                entering_fail(entering, STAGE_MOUNT_POINT, EROFS, mount->destination);
        make_parents(entering, mount->destination);
        autoclose int file = openat(entering->root, relative(mount->destination),
                                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
        int error = file < 0 ? -errno : fd_write_all(file, mount->content, strlen(mount->content));
        if (error < 0)
                entering_fail(entering, STAGE_MOUNT_POINT, -error, mount->destination);
}
