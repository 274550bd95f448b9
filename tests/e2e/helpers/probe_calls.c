/* SPDX-License-Identifier: Apache-2.0
 *
 * probe_calls: makes system calls with harmless or senseless arguments and prints `NAME ERRNO-NAME` for each
 * (`NAME ok` where one succeeds), so that a test can read what a filter answers. Every call that could do
 * something is made with arguments that the kernel itself would refuse, with another error.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void report(const char *name, long result)
{
        printf("%s %s\n", name, result >= 0 ? "ok" : strerrorname_np(errno));
        fflush(stdout);
}

/* unshare() in a child, so that what follows is still asked by the same somebody. */
static void probe_unshare(const char *name, int flags)
{
        pid_t child = fork();
        if (child == 0) {
                report(name, unshare(flags));
                _exit(0);
        }
        waitpid(child, NULL, 0);
}

/* clone() with a namespace flag: a child, should one come to be, ends at once. */
static void probe_clone(const char *name, unsigned long flags)
{
        long child = syscall(SYS_clone, flags | 17 /* SIGCHLD */, 0, 0, 0, 0);
        if (child == 0)
                _exit(0);
        report(name, child);
        if (child > 0)
                waitpid((pid_t)child, NULL, 0);
}

static void probe_socket(const char *name, int family, int type, int protocol)
{
        int fd = socket(family, type, protocol);
        report(name, fd);
        if (fd >= 0)
                close(fd);
}

int main(void)
{
        struct {
                unsigned long long flags, mode, resolve;
        } how = {O_RDONLY | O_CLOEXEC, 0, 0};
        char byte = 'x';

        report("clone3", syscall(SYS_clone3, NULL, 0));
        report("openat2", syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof how));
        report("faccessat2", syscall(SYS_faccessat2, AT_FDCWD, "/", R_OK, 0));
        report("syscall-9999", syscall(9999));
        report("io_uring_setup", syscall(SYS_io_uring_setup, 0, NULL));
        probe_unshare("unshare-user", CLONE_NEWUSER);
        probe_unshare("unshare-mount", CLONE_NEWNS);
        probe_clone("clone-user", CLONE_NEWUSER);
        probe_clone("clone-net", CLONE_NEWNET);
        report("setns", syscall(SYS_setns, -1, 0));
        report("mount", syscall(SYS_mount, NULL, NULL, NULL, 0, NULL));
        report("umount2", syscall(SYS_umount2, NULL, 0));
        report("pivot_root", syscall(SYS_pivot_root, NULL, NULL));
        report("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
        report("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */));
        report("bpf", syscall(SYS_bpf, 0, NULL, 0));
        report("keyctl", syscall(SYS_keyctl, 0, 0, 0, 0, 0));
        report("add_key", syscall(SYS_add_key, NULL, NULL, NULL, 0, 0));
        report("userfaultfd", syscall(SYS_userfaultfd, ~0U));
        report("perf_event_open", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
        report("kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, 0));
        report("init_module", syscall(SYS_init_module, NULL, 0, NULL));
        report("open_by_handle_at", syscall(SYS_open_by_handle_at, -1, NULL, 0));
        probe_socket("socket-unix", AF_UNIX, SOCK_STREAM, 0);
        probe_socket("socket-inet", AF_INET, SOCK_STREAM, 0);
        probe_socket("socket-route", AF_NETLINK, SOCK_RAW, 0);
        probe_socket("socket-netlink-audit", AF_NETLINK, SOCK_RAW, 9);
        probe_socket("socket-packet", AF_PACKET, SOCK_RAW, 0);
        probe_socket("socket-raw", AF_INET, SOCK_RAW, 255);
        probe_socket("socket-alg", 38, SOCK_SEQPACKET, 0);
        probe_socket("socket-vsock", 40, SOCK_STREAM, 0);
        report("tiocsti", ioctl(0, 0x5412UL, &byte));
        report("tiocsti-high-bits", syscall(SYS_ioctl, 0, 0x100005412UL, &byte));
        report("tioclinux", ioctl(0, 0x541CUL, &byte));
#ifdef __x86_64__
        report("x32-getpid", syscall(0x40000000L + SYS_getpid));
#endif
        return 0;
}
