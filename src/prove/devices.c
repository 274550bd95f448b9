/* SPDX-License-Identifier: Apache-2.0
 *
 * Attempts on devices, and on files of /proc and /sys that act on the machine or show its secrets. The files
 * are opened, and nothing is read from or written to them.
 */
#include "prove/attempts.h"

#include "lib/fd.h"
#include "prove/target.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* `number`: flags of open(2). */
static enum outcome open_one(const struct attempt *attempt)
{
        autoclose int fd = open(attempt->text, (int)attempt->number | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        struct stat status = {0};
        target_note_path(attempt->text);
        if (fd >= 0 && fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3))
                return HELD; /* the file is masked with /dev/null */
        return out_if(fd >= 0);
}

/* Opens the first disk for reading: when one that was open for writing is closed, the machine's device
 * manager looks at it. */
static enum outcome open_disk(const struct attempt *attempt)
{
        (void)attempt;
        static const char *const disks[] = {"/dev/sda",     "/dev/vda",  "/dev/nvme0n1", "/dev/xvda",
                                            "/dev/mmcblk0", "/dev/dm-0", "/dev/loop0"};
        for (size_t i = 0; i < sizeof(disks) / sizeof(*disks); i++) {
                autoclose int fd = open(disks[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
                if (fd >= 0)
                        return GOT_OUT;
        }
        return HELD;
}

/* Sets the mode that the device already has, so that nothing changes. */
static enum outcome device_mode(const struct attempt *attempt)
{
        struct stat status;
        return out_if(stat(attempt->text, &status) == 0 && S_ISCHR(status.st_mode) &&
                      chmod(attempt->text, status.st_mode & 0777) == 0);
}

/* Makes a device node (1:`number`) and opens it. Outside, the node is among the decoys, which are removed
 * however the run ends. */
static enum outcome make_node(const struct attempt *attempt)
{
        const char *path = target_is_inside() ? "/tmp/node" : target_path("node");
        int made = mknod(path, S_IFCHR | 0600, makedev(1, (unsigned)attempt->number));
        autoclose int fd = made < 0 ? -1 : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (made == 0)
                (void)unlink(path);
        return out_if(fd >= 0);
}

static enum outcome granted_node(const struct attempt *attempt)
{
        autoclose int fd = open(target_path(attempt->text), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        return out_if(fd >= 0);
}

/* Looks for kernel addresses that are not zeroed. */
static enum outcome kernel_addresses(const struct attempt *attempt)
{
        char line[256] = "";
        FILE *file = fopen(attempt->text, "re");
        bool found = file && fgets(line, sizeof(line), file) && strtoull(line, NULL, 16) != 0;
        if (file)
                (void)fclose(file);
        return out_if(found);
}

#define PROC_SYS "/proc/sys/"
static const struct attempt rows[] = {
    {"disk-read", "every file of the machine", SHOW_AS_ROOT, open_disk, NULL, 0},
    {"dev-mem", "the machine's memory", SHOW_AS_ROOT, open_one, "/dev/mem", O_RDONLY},
    {"dev-kmsg", "the kernel's log", SHOW_AS_CALLER, open_one, "/dev/kmsg", O_RDONLY},
    {"dev-console", "the machine's console", SHOW_AS_ROOT, open_one, "/dev/tty0", O_RDWR},
    {"dev-fuse", "new file systems", SHOW_AS_CALLER, open_one, "/dev/fuse", O_RDWR},
    {"dev-tun", "new network cards", SHOW_AS_CALLER, open_one, "/dev/net/tun", O_RDWR},
    {"dev-kvm", "the hypervisor's code", SHOW_AS_CALLER, open_one, "/dev/kvm", O_RDWR},
    {"dev-vsock", "the machine's hypervisor", SHOW_AS_CALLER, open_one, "/dev/vsock", O_RDONLY},
    {"dev-loop", "a disk made of a file", SHOW_AS_ROOT, open_one, "/dev/loop-control", O_RDWR},
    {"dev-userfaultfd", "stalling the kernel", SHOW_AS_ROOT, open_one, "/dev/userfaultfd", O_RDWR},
    {"dev-hwrng", "a device of the machine", SHOW_AS_ROOT, open_one, "/dev/hwrng", O_RDONLY},
    {"make-device", "any device", SHOW_AS_ROOT, make_node, NULL, 9},
    {"make-device-mem", "the machine's memory", SHOW_AS_ROOT, make_node, NULL, 11},
    {"device-mode", "the mode of the machine's /dev/null", SHOW_AS_ROOT, device_mode, "/dev/null", 0},
    {"granted-device", "a device by a node in a grant", SHOW_AS_ROOT, granted_node, "grant/node", 0},
    {"sys", "the machine's devices", SHOW_AS_CALLER, open_one, "/sys/kernel", O_RDONLY},
    {"sys-uevent", "a helper that root runs", SHOW_AS_ROOT, open_one, "/sys/kernel/uevent_helper", O_WRONLY},
    {"sys-power", "suspending the machine", SHOW_AS_ROOT, open_one, "/sys/power/state", O_WRONLY},
    {"sys-cgroup", "other cgroups", SHOW_AS_ROOT, open_one, "/sys/fs/cgroup/cgroup.procs", O_WRONLY},
    {"sys-debug", "the kernel's internals", SHOW_AS_ROOT, open_one, "/sys/kernel/debug/sched", O_RDONLY},
    {"sysrq", "crashing the machine", SHOW_AS_ROOT, open_one, "/proc/sysrq-trigger", O_WRONLY},
    {"core-pattern", "a program that root runs", SHOW_AS_ROOT, open_one, PROC_SYS "kernel/core_pattern",
     O_WRONLY},
    {"modprobe", "a program that root runs, by modprobe", SHOW_AS_ROOT, open_one, PROC_SYS "kernel/modprobe",
     O_WRONLY},
    {"binfmt", "an interpreter for everybody", SHOW_AS_ROOT, open_one, PROC_SYS "fs/binfmt_misc/register",
     O_WRONLY},
    {"sysctl-memory", "the machine's memory rules", SHOW_AS_ROOT, open_one, PROC_SYS "vm/overcommit_memory",
     O_WRONLY},
    {"sysctl-panic", "a crash on the next fault", SHOW_AS_ROOT, open_one, PROC_SYS "kernel/panic_on_oops",
     O_WRONLY},
    {"sysctl-links", "protection of links", SHOW_AS_ROOT, open_one, PROC_SYS "fs/protected_symlinks",
     O_WRONLY},
    {"sysctl-network", "forwarding of packets", SHOW_AS_ROOT | SHOW_IN_USERNS, open_one,
     PROC_SYS "net/ipv4/ip_forward", O_WRONLY},
    {"kcore", "the kernel's memory", SHOW_AS_ROOT, open_one, "/proc/kcore", O_RDONLY},
    {"proc-kmsg", "the kernel's log", SHOW_AS_ROOT, open_one, "/proc/kmsg", O_RDONLY},
    {"proc-keys", "a list of keys", SHOW_AS_CALLER, open_one, "/proc/keys", O_RDONLY},
    {"kallsyms", "addresses of the kernel's code", SHOW_AS_ROOT, kernel_addresses, "/proc/kallsyms", 0},
    {"timer-list", "the kernel's timers", SHOW_AS_ROOT, open_one, "/proc/timer_list", O_RDONLY},
    {"page-flags", "the state of every page", SHOW_AS_ROOT, open_one, "/proc/kpageflags", O_RDONLY},
    {"irq", "the routing of interrupts", SHOW_AS_ROOT, open_one, "/proc/irq/default_smp_affinity", O_WRONLY},
    {"mtrr", "the memory's types", SHOW_AS_ROOT, open_one, "/proc/mtrr", O_WRONLY},
};
const struct attempt_group devices_group = ATTEMPT_GROUP("devices, /proc, /sys", rows);
