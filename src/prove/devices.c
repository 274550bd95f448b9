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

/* Opens the first disk for reading: when one that was open for writing is closed, the machine's device
 * manager looks at it. */
static enum outcome open_disk(void)
{
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
static enum outcome device_mode(void)
{
        struct stat status;
        return out_if(stat(attempt->text, &status) == 0 && S_ISCHR(status.st_mode) &&
                      chmod(attempt->text, status.st_mode & 0777) == 0);
}

/* Makes a device node (1:`number`) and opens it. Outside, the node is among the decoys, which are removed
 * however the run ends. */
static enum outcome make_node(void)
{
        const char *path = target_is_inside() ? "/tmp/node" : target_path("node");
        int made = mknod(path, S_IFCHR | 0600, makedev(1, (unsigned)attempt->number));
        autoclose int fd = made < 0 ? -1 : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (made == 0)
                (void)unlink(path);
        return out_if(fd >= 0);
}

/* Looks for kernel addresses that are not zeroed. */
static enum outcome kernel_addresses(void)
{
        char line[256] = "";
        FILE *file = fopen(attempt->text, "re");
        bool found = file && fgets(line, sizeof(line), file) && strtoull(line, NULL, 16) != 0;
        if (file)
                (void)fclose(file);
        return out_if(found);
}

static const struct attempt rows[] = {
    {"disk-read", "every file of the machine", AS_ROOT, open_disk},
    {"dev-mem", "the machine's memory", AS_ROOT, OPEN("/dev/mem", O_RDONLY)},
    {"dev-kmsg", "the kernel's log", AS_CALLER, OPEN("/dev/kmsg", O_RDONLY)},
    {"dev-console", "the machine's console", AS_ROOT, OPEN("/dev/tty0", O_RDWR)},
    {"dev-fuse", "new file systems", AS_CALLER, OPEN("/dev/fuse", O_RDWR)},
    {"dev-tun", "new network cards", AS_CALLER, OPEN("/dev/net/tun", O_RDWR)},
    {"dev-kvm", "the hypervisor's code", AS_CALLER, OPEN("/dev/kvm", O_RDWR)},
    {"dev-vsock", "the machine's hypervisor", AS_CALLER, OPEN("/dev/vsock", O_RDONLY)},
    {"dev-loop", "a disk made of a file", AS_ROOT, OPEN("/dev/loop-control", O_RDWR)},
    {"dev-userfaultfd", "stalling the kernel", AS_ROOT, OPEN("/dev/userfaultfd", O_RDWR)},
    {"dev-hwrng", "a device of the machine", AS_ROOT, OPEN("/dev/hwrng", O_RDONLY)},
    {"make-device", "any device", AS_ROOT, make_node, NULL, 9},
    {"make-device-mem", "the machine's memory", AS_ROOT, make_node, NULL, 11},
    {"device-mode", "the mode of the machine's /dev/null", AS_ROOT, device_mode, "/dev/null"},
    {"granted-device", "a device by a node in a grant", AS_ROOT, OPEN("grant/node", O_RDONLY)},
    {"sys", "the machine's devices", AS_CALLER, OPEN("/sys/kernel", O_RDONLY)},
    {"sys-uevent", "a helper that root runs", AS_ROOT, OPEN("/sys/kernel/uevent_helper", O_WRONLY)},
    {"sys-power", "suspending the machine", AS_ROOT, OPEN("/sys/power/state", O_WRONLY)},
    {"sys-cgroup", "other cgroups", AS_ROOT, OPEN("/sys/fs/cgroup/cgroup.procs", O_WRONLY)},
    {"sys-debug", "the kernel's internals", AS_ROOT, OPEN("/sys/kernel/debug/sched", O_RDONLY)},
    {"sysrq", "crashing the machine", AS_ROOT, OPEN("/proc/sysrq-trigger", O_WRONLY)},
    {"core-pattern", "a program that root runs", AS_ROOT, OPEN("/proc/sys/kernel/core_pattern", O_WRONLY)},
    {"modprobe", "a program that root runs, by modprobe", AS_ROOT,
     OPEN("/proc/sys/kernel/modprobe", O_WRONLY)},
    {"binfmt", "an interpreter for everybody", AS_ROOT, OPEN("/proc/sys/fs/binfmt_misc/register", O_WRONLY)},
    {"sysctl-memory", "the machine's memory rules", AS_ROOT,
     OPEN("/proc/sys/vm/overcommit_memory", O_WRONLY)},
    {"sysctl-panic", "a crash on the next fault", AS_ROOT, OPEN("/proc/sys/kernel/panic_on_oops", O_WRONLY)},
    {"sysctl-links", "protection of links", AS_ROOT, OPEN("/proc/sys/fs/protected_symlinks", O_WRONLY)},
    {"sysctl-network", "forwarding of packets", AS_ROOT | IN_USERNS,
     OPEN("/proc/sys/net/ipv4/ip_forward", O_WRONLY)},
    {"kcore", "the kernel's memory", AS_ROOT, OPEN("/proc/kcore", O_RDONLY)},
    {"proc-kmsg", "the kernel's log", AS_ROOT, OPEN("/proc/kmsg", O_RDONLY)},
    {"proc-keys", "a list of keys", AS_CALLER, OPEN("/proc/keys", O_RDONLY)},
    {"kallsyms", "addresses of the kernel's code", AS_ROOT, kernel_addresses, "/proc/kallsyms"},
    {"timer-list", "the kernel's timers", AS_ROOT, OPEN("/proc/timer_list", O_RDONLY)},
    {"page-flags", "the state of every page", AS_ROOT, OPEN("/proc/kpageflags", O_RDONLY)},
    {"irq", "the routing of interrupts", AS_ROOT, OPEN("/proc/irq/default_smp_affinity", O_WRONLY)},
    {"mtrr", "the memory's types", AS_ROOT, OPEN("/proc/mtrr", O_WRONLY)},
};
const struct attempt_group devices_group = ATTEMPT_GROUP("devices, /proc, /sys", rows);
