/* SPDX-License-Identifier: Apache-2.0
 *
 * See dev.h.
 *
 * /dev holds the devices that every program may expect, a private devpts, and links. No other device of the
 * host appears, whoever the caller is. /dev/shm is an ordinary memory directory of the box. A server has no
 * /dev/tty: it has no terminal to open, and inotify(7) on this one file tells when any program of the machine
 * reads a key from its own terminal.
 */
#include "ns/dev.h"

#include "lib/fd.h"
#include "ns/detached.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* All users of the machine together have 4096 (kernel.pty.max). */
#define TERMINALS_MOST "256"

/* Numbers from Documentation/admin-guide/devices.txt. In a container another device may have the name. */
static const struct {
        const char *name;
        unsigned major, minor;
} devices[] = {
    {"null", 1, 3}, {"zero", 1, 5}, {"full", 1, 7}, {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0},
};

enum { DEVICES = sizeof(devices) / sizeof(*devices), DEVICES_OF_SERVERS = DEVICES - 1 };

static const struct {
        const char *name, *text;
} links[] = {
    {"fd", "/proc/self/fd"},       {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"},
    {"stderr", "/proc/self/fd/2"}, {"ptmx", "pts/ptmx"},
};

/* Attaches `tree` at the path `inside`. `made` is the result of the call that made the mount point. The
 * sandbox's /dev is a directory of the root's own tmpfs, in which only this module makes anything, so its
 * paths can be trusted. */
static void attach(const struct entering *entering, int tree, const char *inside, int made)
{
        if (made < 0 || move_mount(tree, "", entering->root, inside + 1, MOVE_MOUNT_F_EMPTY_PATH) < 0)
                entering_fail(entering, STAGE_DEVICES, errno, inside);
}

/* Devices have no NODEV, which every other mount has. A read-only mount still lets programs write to the
 * device. It prevents a sandbox of root from changing mode and owner of the machine's /dev/null, and a
 * sandbox of a user from giving everybody access to the terminal. */
static void attach_device(const struct entering *entering, int tree, const char *inside)
{
        detached_restrict(entering, STAGE_DEVICES, inside, tree,
                          MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
        attach(entering, tree, inside, mknodat(entering->root, inside + 1, S_IFREG | 0444, 0));
}

static void mount_device(const struct entering *entering, const char *destination, size_t index)
{
        struct stat status;
        char source[32], inside[256];
        snprintf(source, sizeof(source), "/dev/%s", devices[index].name);
        snprintf(inside, sizeof(inside), "%s/%s", destination, devices[index].name);
        autoclose int tree =
            open_tree(AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
        if (tree < 0 || fstat(tree, &status) < 0)
                entering_fail(entering, STAGE_DEVICES, errno, source);
        if (!S_ISCHR(status.st_mode) || status.st_rdev != makedev(devices[index].major, devices[index].minor))
                entering_fail(entering, STAGE_DEVICES, ENODEV, source);
        attach_device(entering, tree, inside);
}

static void mount_pts(const struct entering *entering, const char *inside)
{
        static const struct file_system_option options[] = {
            {"ptmxmode", "0666"}, {"mode", "0600"}, {"max", TERMINALS_MOST}, {NULL, NULL}};
        autoclose int pts = detached_make(entering, STAGE_DEVICES, inside, "devpts", options,
                                          MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
        attach(entering, pts, inside, mkdirat(entering->root, inside + 1, 0755));
}

/* Mounts the terminal that `run` passes through as /dev/console: ttyname(3) looks for its name in /dev, and
 * the sandbox's devpts does not have the caller's pts. Under some containers the terminal belongs to another
 * mount namespace and has no path here; it then works without a name. */
static void mount_console(const struct entering *entering, const char *inside)
{
        char link[64], source[256];
        struct stat terminal, status;
        snprintf(link, sizeof(link), "/proc/self/fd/%d", entering->stdio.terminal);
        ssize_t length = readlink(link, source, sizeof(source) - 1);
        if (length < 0 || fstat(entering->stdio.terminal, &terminal) < 0)
                return;
        source[length] = 0;
        autoclose int tree =
            open_tree(AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
        if (tree < 0 || fstat(tree, &status) < 0 || status.st_dev != terminal.st_dev ||
            status.st_ino != terminal.st_ino)
                return;
        attach_device(entering, tree, inside);
}

void dev_mount(const struct entering *entering, const char *destination)
{
        char inside[256];
        entering_check(entering, STAGE_DEVICES, destination, mkdirat(entering->root, destination + 1, 0755));
        size_t count = entering->box->kind == BOX_MCP ? DEVICES_OF_SERVERS : DEVICES;
        for (size_t i = 0; i < count; i++)
                mount_device(entering, destination, i);
        snprintf(inside, sizeof(inside), "%s/pts", destination);
        mount_pts(entering, inside);
        if (entering->stdio.terminal >= 0) {
                snprintf(inside, sizeof(inside), "%s/console", destination);
                mount_console(entering, inside);
        }
        for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
                snprintf(inside, sizeof(inside), "%s/%s", destination + 1, links[i].name);
                entering_check(entering, STAGE_DEVICES, links[i].name,
                               symlinkat(links[i].text, entering->root, inside));
        }
}
