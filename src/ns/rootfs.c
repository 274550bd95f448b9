/* SPDX-License-Identifier: Apache-2.0
 *
 * See rootfs.h. This module decides nothing: the box says what is mounted and in which order.
 *
 * Theory of operation. Two tmpfs hold what is in the sandbox's memory. The first is the root: it holds mount
 * points, links and a few small files, and it ends read-only. The second has one directory for each writable
 * place; each is cloned as a mount, so that all of them share one budget. (A place with a size gets a third
 * kind, a tmpfs that it shares with nobody.) The second tmpfs is attached at /tmp first, because only a
 * directory of an attached mount can be cloned; the sandbox's /tmp then covers it for good.
 *
 * Everything else is a clone of a host object (detached.c). It is restricted and compared while it is
 * detached, and attached afterwards. pivot_root(2) then makes the new root the root, and the old root is
 * unmounted: from there on no path and no descriptor leads to the host.
 */
#include "ns/rootfs.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "ns/detached.h"
#include "ns/dev.h"
#include "ns/layers.h"
#include "ns/mount_point.h"
#include "ns/overlay.h"
#include "ns/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

/* linux/mount.h collides with sys/mount.h. glibc's header has the calls and, since 2.36, these constants. */
#ifndef OPEN_TREE_CLONE
#error "glibc 2.36 or newer is needed (open_tree in sys/mount.h)"
#endif

/* Size of the root: it holds hutch's own few files, links and mount points, and nothing of the server's. */
#define ROOT_BYTES  (16ULL << 20)
#define ROOT_INODES (1ULL << 16)

/* Makes a detached tmpfs and remembers its device as the sandbox's own. */
static int make_tmpfs(struct entering *entering, uint64_t bytes, uint64_t inodes, mode_t mode)
{
        char size[32], nr_inodes[32], octal[16];
        snprintf(octal, sizeof(octal), "%o", mode);
        snprintf(size, sizeof(size), "%llu", (unsigned long long)bytes);
        snprintf(nr_inodes, sizeof(nr_inodes), "%llu", (unsigned long long)inodes);

        const struct file_system_option options[] = {
            {"size", size}, {"nr_inodes", nr_inodes}, {"mode", octal}, {NULL, NULL}};
        /* No NOEXEC: package managers build native add-ons in the home and in /tmp, and then run them. */
        int memory = detached_make(entering, STAGE_MEMORY_FS, NULL, "tmpfs", options,
                                   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
        struct stat status;
        entering_check(entering, STAGE_MEMORY_FS, NULL, fstat(memory, &status));
        /* For the watchdog; fstatfs(2) works on it wherever the file system is mounted later. */
        entering->memories[entering->device_count] = fcntl(memory, F_DUPFD_CLOEXEC, 0);
        entering->devices[entering->device_count++] = status.st_dev;
        return memory;
}

/* Makes the directory `name` in the root of the tmpfs `memory` and returns a clone of it. */
static int clone_memory_directory(const struct entering *entering, int memory, const char *name, mode_t mode)
{
        if (mkdirat(memory, name, 0700) < 0 || fchmodat(memory, name, mode, 0) < 0)
                entering_fail(entering, STAGE_MEMORY_FS, errno, name);
        return entering_check(entering, STAGE_MEMORY_FS, name,
                              open_tree(memory, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}

static int make_memory_directory(struct entering *entering, int memory, const struct mount *mount,
                                 const char *name)
{
        const struct box *box = entering->box;
        bool shared = str_equal(mount->destination, "/tmp") || str_equal(mount->destination, "/var/tmp") ||
                      str_equal(mount->destination, "/dev/shm");
        /* Some programs refuse a shared temporary directory without the sticky bit. */
        mode_t mode = shared ? 01777 : 0700;
        return mount->bytes ? make_tmpfs(entering, mount->bytes, box->memory_fs_inodes, mode)
                            : clone_memory_directory(entering, memory, name, mode);
}

/* True when another mount or link has its place below this mask. */
static bool holds_others(const struct box *box, const struct mount *mask)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (path_is_below(box->mounts[i].destination, mask->destination) &&
                    !str_equal(box->mounts[i].destination, mask->destination))
                        return true;
        return false;
}

/* An empty directory to cover a directory with, or /dev/null for any other object. A directory in which
 * others are mounted stays writable until they are in place: see seal_masks(). */
static int make_mask(const struct entering *entering, int memory, const struct mount *mount, const char *name)
{
        bool open = mount->is_directory && holds_others(entering->box, mount);
        int tree = mount->is_directory ? clone_memory_directory(entering, memory, name, 0555)
                                       : open_tree(AT_FDCWD, "/dev/null",
                                                   OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
        struct stat status;
        if (tree < 0 || fstat(tree, &status) < 0)
                entering_fail(entering, STAGE_SOURCE, errno, "/dev/null");
        if (!mount->is_directory && (!S_ISCHR(status.st_mode) || status.st_rdev != makedev(1, 3)))
                entering_fail(entering, STAGE_SWAPPED, ENODEV, "/dev/null");
        detached_restrict(entering, STAGE_MOUNT, mount->destination, tree,
                          MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | (open ? 0 : MOUNT_ATTR_RDONLY));
        return tree;
}

/* Makes the masks read-only that make_mask() left writable. */
static void seal_masks(const struct entering *entering)
{
        struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
        for (size_t i = 0; i < entering->box->mount_count; i++) {
                const struct mount *mask = &entering->box->mounts[i];
                if (mask->kind != MOUNT_MASK || !mask->is_directory || !holds_others(entering->box, mask))
                        continue;
                autoclose int directory = mount_point_open(entering, mask->destination, O_DIRECTORY);
                if (directory < 0 ||
                    mount_setattr(directory, "", AT_EMPTY_PATH, &read_only, sizeof(read_only)) < 0)
                        entering_fail(entering, STAGE_MOUNT, errno, mask->destination);
        }
}

static void mount_one(struct entering *entering, int memory, size_t index)
{
        const struct mount *mount = &entering->box->mounts[index];
        bool is_directory = mount->is_directory;
        autoclose int tree = -1;
        char name[32]; /* in the memory file system */
        snprintf(name, sizeof(name), "%zu", index);
        switch (mount->kind) {
        case MOUNT_BIND:
                tree = detached_clone(entering, mount);
                break;
        case MOUNT_OVERLAY:
                tree = overlay_make(entering, memory, index);
                is_directory = true;
                break;
        case MOUNT_MASK:
                tree = make_mask(entering, memory, mount, name);
                break;
        case MOUNT_MEMORY:
                tree = make_memory_directory(entering, memory, mount, name);
                is_directory = true;
                break;
        case MOUNT_FILE:
                mount_point_make_file(entering, mount);
                break;
        case MOUNT_LINK:
                mount_point_make_link(entering, mount);
                break;
        case MOUNT_PROC:
                proc_mount(entering, mount->destination);
                break;
        case MOUNT_DEV:
                dev_mount(entering, mount->destination);
                break;
        }
        if (tree >= 0)
                mount_point_attach(entering, tree, mount->destination, is_directory);
}

void rootfs_build(struct entering *entering)
{
        if (!layer_enabled(LAYER_MOUNT))
                return;
        const struct box *box = entering->box;
        mode_t inherited = umask(0);
        /* The root's, the common one, and at most one for each mount. */
        entering->devices = str_or_die(calloc(box->mount_count + 2, sizeof(*entering->devices)));
        entering->memories = str_or_die(calloc(box->mount_count + 2, sizeof(*entering->memories)));
        entering->root = make_tmpfs(entering, ROOT_BYTES, ROOT_INODES, 0755);
        /* Attached on top of the present root. No path leads there: an absolute path starts below it. */
        entering_check(entering, STAGE_MEMORY_FS, NULL,
                       move_mount(entering->root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH));
        autoclose int memory = make_tmpfs(entering, box->memory_fs_bytes, box->memory_fs_inodes, 0755);
        mount_point_attach(entering, memory, "/tmp", true);

        for (size_t i = 0; i < box->mount_count; i++) {
                const struct mount *mount = &box->mounts[i];
                /* Links come last: see mount_point_is_in_root(). */
                if (mount->kind != MOUNT_LINK && i > 0 && box->mounts[i - 1].kind == MOUNT_LINK)
                        entering_fail(entering, STAGE_MOUNT_POINT, ELOOP, mount->destination);
                mount_one(entering, memory, i);
        }
        seal_masks(entering);
        umask(inherited);
}

void rootfs_pivot(struct entering *entering)
{
        if (!layer_enabled(LAYER_MOUNT))
                return;
        struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
        if (layer_enabled(LAYER_READ_ONLY) &&
            mount_setattr(entering->root, "", AT_EMPTY_PATH, &read_only, sizeof(read_only)) < 0)
                entering_fail(entering, STAGE_ROOT, errno, NULL);
        /* pivot_root(".", ".") stacks the old root on top of the new one at the same place. "." then names
         * the topmost of them, the old root (pivot_root(2)). */
        if (fchdir(entering->root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
            umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
                entering_fail(entering, STAGE_ROOT, errno, NULL);
        /* A mount that is still stacked on top would show at "/..". Check it instead of trusting the order
         * of mounts. */
        struct stat root, above;
        if (stat("/", &root) < 0 || stat("/..", &above) < 0)
                entering_fail(entering, STAGE_ROOT, errno, NULL);
        if (root.st_dev != entering->devices[0] || above.st_dev != root.st_dev || above.st_ino != root.st_ino)
                entering_fail(entering, STAGE_ROOT, EXDEV, "/..");
        fd_close(&entering->root);
}
