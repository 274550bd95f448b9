/* SPDX-License-Identifier: Apache-2.0
 *
 * The new root, built by descriptor from the box's list of mounts, in its order. This module decides nothing.
 *
 * Theory of operation. Two tmpfs hold what lives in the sandbox's memory. One is the root, with nothing in it
 * but mount points, links and a few small files; it ends read-only. The other has one directory for each
 * writable place; those are cloned as mounts of their own, so that all share one budget (a place with a size
 * of its own is a further tmpfs, and shares nothing). It is attached at
 * /tmp first, because a directory can be cloned only from an attached mount, and the sandbox's own /tmp then
 * covers it for ever. Everything else is a clone of a host object: made private and restricted while it is
 * still detached, compared with what was judged, and only then attached. pivot_root(2) then makes the new
 * root the root, and the old one is let go: from there on no path and no descriptor leads out.
 *
 * It must never create anything outside those two: a missing mount point in a granted directory is an error.
 */
#include "lib/fd.h"
#include "lib/str.h"
#include "ns/entering.h"
#include "ns/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

/* linux/mount.h collides with sys/mount.h; glibc's has the calls and, since 2.36, these constants. */
#ifndef OPEN_TREE_CLONE
#error "glibc 2.36 or newer is needed (open_tree in sys/mount.h)"
#endif

/* Room for the root's own few files, links and mount points, which only this module makes. */
#define ROOT_BYTES  (16ULL << 20)
#define ROOT_INODES (1ULL << 16)

/* True when nothing is mounted on the way to `destination`: the place is in the root's own tmpfs, where
 * everything was made by this module, and paths below the root can be trusted as they are. That no link is on
 * the way either is what the box's order is for: a link's text would be resolved on the host. */
static bool is_own_place(const struct box *box, const char *destination)
{
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
static void make_own_parents(const struct entering *entering, const char *destination)
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

/* Makes a mount point in the root's own tmpfs, unless it is there. */
static void make_own_point(const struct entering *entering, const char *destination, bool directory)
{
        int made = make_empty(entering->root, relative(destination), directory);
        if (made < 0 && errno == ENOENT) {
                make_own_parents(entering, destination);
                made = make_empty(entering->root, relative(destination), directory);
        }
        if (made < 0 && errno != EEXIST)
                entering_fail(entering, STAGE_MOUNT_POINT, errno, destination);
}

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

/* Opens a path inside, without following any link: what lies below a mount was made by others, and a link
 * there must not decide where something is attached. */
static int open_inside(const struct entering *entering, const char *destination, uint64_t flags)
{
        struct open_how how = {
            .flags = flags | O_CLOEXEC,
            .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
        };
        return (int)syscall(SYS_openat2, entering->root, relative(destination), &how, sizeof(how));
}

/* Opens `parent`/`name` as a directory, making it when `parent` is in the sandbox's memory. */
static int step_into(const struct entering *entering, int parent, const char *name, const char *destination)
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

/* The directory that holds `destination`, made as far as it is missing; *name points at the last component.
 */
static int open_parent(const struct entering *entering, const char *destination, const char **name)
{
        *name = strrchr(destination, '/') + 1;
        autofree char *parent = path_parent(destination);
        int directory = open_inside(entering, parent, O_PATH | O_DIRECTORY);
        if (directory >= 0)
                return directory;

        directory = open_inside(entering, "/", O_PATH | O_DIRECTORY);
        for (char *rest = parent + 1, *component; directory >= 0 && (component = strsep(&rest, "/"));) {
                int next = step_into(entering, directory, component, destination);
                close(directory);
                directory = next;
        }
        if (directory < 0)
                entering_fail(entering, STAGE_MOUNT_POINT, errno, destination);
        return directory;
}

/* An O_PATH descriptor of a mount point below some other mount, made when it is missing and its place is in
 * the sandbox's memory. */
static int open_point_below_mount(const struct entering *entering, const char *destination, bool directory)
{
        int point = open_inside(entering, destination, O_PATH);
        if (point >= 0)
                return point;
        if (errno != ENOENT)
                entering_fail(entering, STAGE_MOUNT_POINT, errno, destination);

        const char *name;
        autoclose int parent = open_parent(entering, destination, &name);
        if (!is_memory(entering, parent))
                entering_fail(entering, STAGE_MOUNT_POINT, ENOENT, destination);
        if (make_empty(parent, name, directory) == 0)
                point = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (point < 0)
                entering_fail(entering, STAGE_MOUNT_POINT, errno, destination);
        return point;
}

void rootfs_attach(const struct entering *entering, int tree, const char *destination, bool directory)
{
        int moved;
        if (is_own_place(entering->box, destination)) {
                make_own_point(entering, destination, directory);
                moved = move_mount(tree, "", entering->root, relative(destination), MOVE_MOUNT_F_EMPTY_PATH);
        } else {
                autoclose int point = open_point_below_mount(entering, destination, directory);
                moved = move_mount(tree, "", point, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
        }
        if (moved < 0)
                entering_fail(entering, STAGE_MOUNT, errno, destination);
}

static void make_link(const struct entering *entering, const struct mount *mount)
{
        const char *name;
        struct stat status;
        autoclose int parent = open_parent(entering, mount->destination, &name);
        /* Inside a granted directory the host's own link is already there; elsewhere a mount has the place.
         */
        if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0)
                return;
        if (!is_memory(entering, parent))
                entering_fail(entering, STAGE_MOUNT_POINT, ENOENT, mount->destination);
        if (symlinkat(mount->source, parent, name) < 0)
                entering_fail(entering, STAGE_MOUNT_POINT, errno, mount->destination);
}

/* Files are made in the root's own tmpfs only: below a grant this would write to the host. */
static void write_file(const struct entering *entering, const struct mount *mount)
{
        if (!is_own_place(entering->box, mount->destination))
                entering_fail(entering, STAGE_MOUNT_POINT, EROFS, mount->destination);
        make_own_parents(entering, mount->destination);
        autoclose int file = openat(entering->root, relative(mount->destination),
                                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
        int error = file < 0 ? -errno : fd_write_all(file, mount->content, strlen(mount->content));
        if (error < 0)
                entering_fail(entering, STAGE_MOUNT_POINT, -error, mount->destination);
}

/* A new tmpfs, detached, whose device is remembered as the sandbox's own. */
static int make_tmpfs(struct entering *entering, uint64_t bytes, uint64_t inodes, mode_t mode)
{
        char size[32], nr_inodes[32], octal[16];
        snprintf(octal, sizeof(octal), "%o", mode);
        snprintf(size, sizeof(size), "%llu", (unsigned long long)bytes);
        snprintf(nr_inodes, sizeof(nr_inodes), "%llu", (unsigned long long)inodes);

        autoclose int context = fsopen("tmpfs", FSOPEN_CLOEXEC);
        if (context < 0 || fsconfig(context, FSCONFIG_SET_STRING, "size", size, 0) < 0 ||
            fsconfig(context, FSCONFIG_SET_STRING, "nr_inodes", nr_inodes, 0) < 0 ||
            fsconfig(context, FSCONFIG_SET_STRING, "mode", octal, 0) < 0 ||
            fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
                entering_fail(entering, STAGE_MEMORY_FS, errno, NULL);
        /* Programs may be executed from it: package managers build native add-ons in the home and in /tmp. */
        int memory = fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
        struct stat status;
        if (memory < 0 || fstat(memory, &status) < 0)
                entering_fail(entering, STAGE_MEMORY_FS, errno, NULL);
        if (entering->memories)
                entering->memories[entering->device_count] = fcntl(memory, F_DUPFD_CLOEXEC, 0);
        entering->devices[entering->device_count++] = status.st_dev;
        return memory;
}

/* A clone of one directory of the tmpfs, whose path from the tmpfs's root is `name`. */
static int clone_memory_directory(const struct entering *entering, int memory, const char *name, mode_t mode)
{
        if (mkdirat(memory, name, 0700) < 0 || fchmodat(memory, name, mode, 0) < 0)
                entering_fail(entering, STAGE_MEMORY_FS, errno, name);
        int tree = open_tree(memory, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        if (tree < 0)
                entering_fail(entering, STAGE_MEMORY_FS, errno, name);
        return tree;
}

static void mount_memory_directory(struct entering *entering, int memory, size_t index)
{
        const struct box *box = entering->box;
        const struct mount *mount = &box->mounts[index];
        bool shared = str_equal(mount->destination, "/tmp") || str_equal(mount->destination, "/var/tmp") ||
                      str_equal(mount->destination, "/dev/shm");
        /* Shared temporary directories carry the sticky bit, which some programs insist on. */
        mode_t mode = shared ? 01777 : 0700;
        char name[32];
        snprintf(name, sizeof(name), "%zu", index);
        autoclose int tree = mount->bytes ? make_tmpfs(entering, mount->bytes, box->memory_fs_inodes, mode)
                                          : clone_memory_directory(entering, memory, name, mode);
        rootfs_attach(entering, tree, mount->destination, true);
}

int rootfs_clone_source(const struct entering *entering, const struct mount *mount)
{
        struct stat status;
        int tree = open_tree(AT_FDCWD, mount->source,
                             OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW);
        if (tree < 0 || fstat(tree, &status) < 0)
                entering_fail(entering, STAGE_SOURCE, errno, mount->source);
        /* The path was judged a moment ago; whoever can rename there may have put something else in its place
         * since. The clone cannot change any more, so this comparison is final. */
        if (status.st_dev != mount->device || status.st_ino != mount->inode)
                entering_fail(entering, STAGE_SWAPPED, ESTALE, mount->source);

        struct mount_attr attributes = {
            .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                        (mount->writable || !layer_enabled(LAYER_READ_ONLY) ? 0 : MOUNT_ATTR_RDONLY),
            /* Private before it is attached: otherwise what the host mounts below it later arrives here, with
             * the host's flags, writable. */
            .propagation = MS_PRIVATE,
        };
        if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof(attributes)) < 0)
                entering_fail(entering, STAGE_MOUNT, errno, mount->source);
        return tree;
}

static void mount_host_object(const struct entering *entering, const struct mount *mount)
{
        autoclose int tree = rootfs_clone_source(entering, mount);
        rootfs_attach(entering, tree, mount->destination, mount->is_directory);
}

static void mount_overlay(const struct entering *entering, int memory, size_t index)
{
        autoclose int tree = overlay_make(entering, memory, index);
        rootfs_attach(entering, tree, entering->box->mounts[index].destination, true);
}

/* True when mounts or links have their place below this mask. */
static bool holds_others(const struct box *box, const struct mount *mask)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (path_is_below(box->mounts[i].destination, mask->destination) &&
                    !str_equal(box->mounts[i].destination, mask->destination))
                        return true;
        return false;
}

/* Nothing, where a grant would show something: the null device over what is no directory. A directory that
 * holds others is read-only once these are there: seal_masks(). */
static void mount_mask(const struct entering *entering, int memory, size_t index)
{
        const struct mount *mount = &entering->box->mounts[index];
        struct mount_attr attributes = {
            .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
            .propagation = MS_PRIVATE,
        };
        if (!mount->is_directory || !holds_others(entering->box, mount))
                attributes.attr_set |= MOUNT_ATTR_RDONLY;
        char name[32];
        snprintf(name, sizeof(name), "%zu", index);
        autoclose int tree =
            mount->is_directory
                ? clone_memory_directory(entering, memory, name, 0555)
                : open_tree(AT_FDCWD, "/dev/null", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
        struct stat status;
        if (tree < 0 || fstat(tree, &status) < 0)
                entering_fail(entering, STAGE_SOURCE, errno, "/dev/null");
        if (!mount->is_directory && (!S_ISCHR(status.st_mode) || status.st_rdev != makedev(1, 3)))
                entering_fail(entering, STAGE_SWAPPED, ENODEV, "/dev/null");
        if (mount_setattr(tree, "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) < 0)
                entering_fail(entering, STAGE_MOUNT, errno, mount->destination);
        rootfs_attach(entering, tree, mount->destination, mount->is_directory);
}

static void seal_masks(const struct entering *entering)
{
        struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
        for (size_t i = 0; i < entering->box->mount_count; i++) {
                const struct mount *mask = &entering->box->mounts[i];
                if (mask->kind != MOUNT_MASK || !mask->is_directory || !holds_others(entering->box, mask))
                        continue;
                autoclose int directory = open_inside(entering, mask->destination, O_PATH | O_DIRECTORY);
                if (directory < 0 ||
                    mount_setattr(directory, "", AT_EMPTY_PATH, &read_only, sizeof(read_only)) < 0)
                        entering_fail(entering, STAGE_MOUNT, errno, mask->destination);
        }
}

void rootfs_build(struct entering *entering)
{
        const struct box *box = entering->box;
        mode_t inherited = umask(0);
        /* The root's, the common one, and one for each mount at most. */
        entering->devices = str_or_die(calloc(box->mount_count + 2, sizeof(*entering->devices)));
        if (entering->watchdog >= 0)
                entering->memories = str_or_die(calloc(box->mount_count + 2, sizeof(*entering->memories)));
        entering->root = make_tmpfs(entering, ROOT_BYTES, ROOT_INODES, 0755);
        /* On top of the present root, where no path leads: an absolute path starts below it. */
        if (move_mount(entering->root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
                entering_fail(entering, STAGE_MEMORY_FS, errno, NULL);
        autoclose int memory = make_tmpfs(entering, box->memory_fs_bytes, box->memory_fs_inodes, 0755);
        rootfs_attach(entering, memory, "/tmp", true);

        for (size_t i = 0; i < box->mount_count; i++) {
                const struct mount *mount = &box->mounts[i];
                if (mount->kind != MOUNT_LINK && i > 0 && box->mounts[i - 1].kind == MOUNT_LINK)
                        entering_fail(entering, STAGE_MOUNT_POINT, ELOOP, mount->destination);
                switch (mount->kind) {
                case MOUNT_BIND:
                        mount_host_object(entering, mount);
                        break;
                case MOUNT_OVERLAY:
                        mount_overlay(entering, memory, i);
                        break;
                case MOUNT_MASK:
                        mount_mask(entering, memory, i);
                        break;
                case MOUNT_MEMORY:
                        mount_memory_directory(entering, memory, i);
                        break;
                case MOUNT_FILE:
                        write_file(entering, mount);
                        break;
                case MOUNT_LINK:
                        make_link(entering, mount);
                        break;
                case MOUNT_PROC:
                        proc_mount(entering, mount->destination);
                        break;
                case MOUNT_DEV:
                        dev_mount(entering, mount->destination);
                        break;
                }
        }
        seal_masks(entering);
        umask(inherited);
}

void rootfs_pivot(struct entering *entering)
{
        struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
        if (layer_enabled(LAYER_READ_ONLY) &&
            mount_setattr(entering->root, "", AT_EMPTY_PATH, &read_only, sizeof(read_only)) < 0)
                entering_fail(entering, STAGE_ROOT, errno, NULL);
        /* pivot_root(".", ".") puts the old root on top of the new one at the same place, and "." then names
         * the topmost of what is stacked there, the old root (pivot_root(2)). */
        if (fchdir(entering->root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
            umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
                entering_fail(entering, STAGE_ROOT, errno, NULL);
        /* Anything left on top would be found at "/..": look, do not trust the order of mounts. */
        struct stat root, above;
        if (stat("/", &root) < 0 || stat("/..", &above) < 0)
                entering_fail(entering, STAGE_ROOT, errno, NULL);
        if (root.st_dev != entering->devices[0] || above.st_dev != root.st_dev || above.st_ino != root.st_ino)
                entering_fail(entering, STAGE_ROOT, EXDEV, "/..");
        fd_close(&entering->root);
}
