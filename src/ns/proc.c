/* SPDX-License-Identifier: Apache-2.0
 *
 * See proc.h.
 *
 * Files of /proc that describe the whole machine, or act on it, are read-only or masked. The kernel guards
 * them with root's file permissions only, and those let a sandbox pass whose caller is root. A file that
 * exists and cannot be masked is an error.
 */
#include "ns/proc.h"

#include "lib/fd.h"
#include "ns/detached.h"
#include "ns/layers.h"
#include "ns/mount_point.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>

static const char *const read_only[] = {"sys",  "irq",    "bus",      "fs",   "acpi",
                                        "scsi", "driver", "pressure", "mtrr", "sysrq-trigger"};
static const char *const masked[] = {"kcore", "keys", "kmsg", "kallsyms", "timer_list"};
/* Only root can read these (mode 0400), so they are masked where the caller is root. */
static const char *const masked_for_root[] = {"kpageflags",  "kpagecount",   "kpagecgroup", "slabinfo",
                                              "vmallocinfo", "pagetypeinfo", "allocinfo"};

/* Covers `name` below `proc` with a read-only clone of the path `source`, or of itself when it is NULL. */
static void cover(const struct entering *entering, int proc, const char *name, const char *source)
{
        /* This kernel may be built without the file. It is looked for before the clone, because the kernel
         * takes as long to drop an unused clone as for ten of these calls. */
        if (faccessat(proc, name, F_OK, 0) < 0 && errno == ENOENT)
                return;
        autoclose int tree =
            entering_check(entering, STAGE_PROC_MASK, name,
                           open_tree(source ? AT_FDCWD : proc, source ? source : name,
                                     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW));
        detached_restrict(entering, STAGE_PROC_MASK, name, tree,
                          MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
        entering_check(entering, STAGE_PROC_MASK, name,
                       move_mount(tree, "", proc, name, MOVE_MOUNT_F_EMPTY_PATH));
}

/* Returns a detached proc of the sandbox's pid namespace. */
static int make_proc(const struct entering *entering, bool hides_pid_1)
{
        static const struct file_system_option all[] = {{NULL, NULL}},
                                               own[] = {{"hidepid", "ptraceable"}, {NULL, NULL}};
        /* EPERM means that the /proc outside is partly covered. A fresh one would show a user namespace what
         * was hidden from it, so the kernel refuses it (mount_namespaces(7)). */
        return detached_make(entering, STAGE_PROC, NULL, "proc", hides_pid_1 ? own : all,
                             MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
}

void proc_mount(struct entering *entering, const char *destination)
{
        /* Pid 1 is not dumpable, so its files belong to root. A server whose caller is root could still list
         * the numbers of its descriptors; for that caller alone, hidepid hides pid 1 completely. It would
         * hide processes that are not dumpable from pid 1 as well, so the watchdog gets another proc. */
        bool is_root = entering->box->outer_uid == 0;
        autoclose int proc = make_proc(entering, is_root);
        entering->proc = is_root ? make_proc(entering, false) : fcntl(proc, F_DUPFD_CLOEXEC, 0);
        mount_point_attach(entering, proc, destination, true);

        /* A nested sandbox can mount a fresh proc only while no part of this one is covered. */
        if (entering->box->userns == USERNS_FULL || !layer_enabled(LAYER_PROC_MASKS))
                return;
        for (size_t i = 0; i < sizeof(read_only) / sizeof(*read_only); i++)
                cover(entering, proc, read_only[i], NULL);
        for (size_t i = 0; i < sizeof(masked) / sizeof(*masked); i++)
                cover(entering, proc, masked[i], "/dev/null");
        for (size_t i = 0; is_root && i < sizeof(masked_for_root) / sizeof(*masked_for_root); i++)
                cover(entering, proc, masked_for_root[i], "/dev/null");
}
