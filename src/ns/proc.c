/* SPDX-License-Identifier: Apache-2.0
 *
 * A fresh proc of the sandbox's own pid namespace. What in it speaks of the whole machine, or acts on it, is
 * read-only or masked: the kernel guards those files with file permissions of root, and a sandbox whose
 * caller is root would pass them. A file that exists and cannot be masked is an error.
 */
#include "lib/fd.h"
#include "ns/entering.h"
#include "ns/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>

static const char *const read_only[] = {"sys",  "irq",    "bus",      "fs",   "acpi",
                                        "scsi", "driver", "pressure", "mtrr", "sysrq-trigger"};
static const char *const masked[] = {"kcore", "keys", "kmsg", "kallsyms", "timer_list"};
/* Root's alone to read (mode 0400): covered where the caller is root. */
static const char *const masked_for_root[] = {"kpageflags",  "kpagecount",   "kpagecgroup", "slabinfo",
                                              "vmallocinfo", "pagetypeinfo", "allocinfo"};

/* Covers `name` below `proc` with a read-only clone of `source` (path), or of itself when source is NULL. */
static void cover(const struct entering *entering, int proc, const char *name, const char *source)
{
        struct mount_attr attributes = {
            .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
            .propagation = MS_PRIVATE,
        };
        /* Before the clone: to drop an unused one takes the kernel as long as ten of these calls. */
        if (faccessat(proc, name, F_OK, 0) < 0 && errno == ENOENT)
                return; /* this kernel was built without it */
        autoclose int tree = open_tree(source ? AT_FDCWD : proc, source ? source : name,
                                       OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
        if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) < 0)
                entering_fail(entering, STAGE_PROC_MASK, errno, name);
        if (move_mount(tree, "", proc, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
                entering_fail(entering, STAGE_PROC_MASK, errno, name);
}

void proc_mount(struct entering *entering, const char *destination)
{
        autoclose int context = fsopen("proc", FSOPEN_CLOEXEC);
        /* Pid 1 is not dumpable, so its files belong to root; for a caller who is root that protects less
         * (the numbers of its descriptors can be listed), and only there it is hidden altogether. */
        bool is_root = entering->box->outer_uid == 0;
        if (context < 0 ||
            (is_root && fsconfig(context, FSCONFIG_SET_STRING, "hidepid", "ptraceable", 0) < 0) ||
            fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
                entering_fail(entering, STAGE_PROC, errno, NULL);
        /* EPERM here: the /proc that we came from is partly covered, and the kernel does not let a user
         * namespace see through a fresh one what was hidden from it (mount_namespaces(7)). */
        autoclose int proc =
            fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
        if (proc < 0)
                entering_fail(entering, STAGE_PROC, errno, NULL);
        rootfs_attach(entering, proc, destination, true);
        if (entering->watchdog >= 0)
                entering->proc = fcntl(proc, F_DUPFD_CLOEXEC, 0);

        /* A nested sandbox that wants a fresh proc of its own needs this one uncovered. */
        if (entering->box->userns == USERNS_FULL || !layer_enabled(LAYER_PROC_MASKS))
                return;
        for (size_t i = 0; i < sizeof(read_only) / sizeof(*read_only); i++)
                cover(entering, proc, read_only[i], NULL);
        for (size_t i = 0; i < sizeof(masked) / sizeof(*masked); i++)
                cover(entering, proc, masked[i], "/dev/null");
        for (size_t i = 0; is_root && i < sizeof(masked_for_root) / sizeof(*masked_for_root); i++)
                cover(entering, proc, masked_for_root[i], "/dev/null");
}
