/* SPDX-License-Identifier: Apache-2.0
 *
 * Gives bubblewrap the filters that hutch has, so that the two are compared doing the same: reads the names
 * of the permitted system calls, one a line, and writes two BPF programs for `bwrap --add-seccomp-fd`: the
 * allow-list, and the small one that refuses a few arguments. Usage: seccomp_filter CALLS ARGUMENTS < NAMES.
 * Only the benchmark uses them; hutch never reads them.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef TIOCLINUX
#define TIOCLINUX 0x541C
#endif

static void check(int result, const char *what)
{
        if (result < 0) {
                fprintf(stderr, "%s: %s\n", what, strerror(-result));
                exit(1);
        }
}

static scmp_filter_ctx new_filter(uint32_t action)
{
        scmp_filter_ctx filter = seccomp_init(action);
        check(filter ? 0 : -ENOMEM, "seccomp_init");
        check(seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)), "bad architecture");
        check(seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2), "optimize");
        return filter;
}

static void write_filter(scmp_filter_ctx filter, const char *path)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        check(fd < 0 ? -errno : 0, path);
        check(seccomp_export_bpf(filter, fd), path);
        check(close(fd) != 0 ? -errno : 0, path);
        seccomp_release(filter);
}

static void write_calls(const char *path)
{
        scmp_filter_ctx filter = new_filter(SCMP_ACT_ERRNO(ENOSYS));
        char name[128];
        unsigned known = 0;
        while (fgets(name, sizeof(name), stdin)) {
                name[strcspn(name, "\n")] = '\0';
                int call = seccomp_syscall_resolve_name(name);
                /* Negative: a call of another architecture, or one this libseccomp has not heard of. */
                if (call < 0)
                        continue;
                check(seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0), name);
                known++;
        }
        check(known > 0 ? 0 : -EINVAL, "the list of calls");
        write_filter(filter, path);
}

static void refuse(scmp_filter_ctx filter, int call, struct scmp_arg_cmp condition)
{
        check(seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), call, 1, &condition), "argument rule");
}

static void write_arguments(const char *path)
{
        static const unsigned long terminal_requests[] = {TIOCSTI, TIOCLINUX};
        static const unsigned long namespaces[] = {CLONE_NEWNS,  CLONE_NEWUTS, CLONE_NEWIPC,   CLONE_NEWUSER,
                                                   CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWCGROUP};
        static const unsigned long families[] = {AF_VSOCK, AF_PACKET, AF_ALG};
        scmp_filter_ctx filter = new_filter(SCMP_ACT_ALLOW);
        for (size_t i = 0; i < sizeof(terminal_requests) / sizeof(*terminal_requests); i++)
                refuse(filter, SCMP_SYS(ioctl),
                       SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, terminal_requests[i]));
        for (size_t i = 0; i < sizeof(namespaces) / sizeof(*namespaces); i++)
                refuse(filter, SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces[i], namespaces[i]));
        for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
                refuse(filter, SCMP_SYS(socket), SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffffu, families[i]));
        write_filter(filter, path);
}

int main(int argc, char **argv)
{
        if (argc != 3) {
                fprintf(stderr, "usage: seccomp_filter CALLS ARGUMENTS < NAMES\n");
                return 1;
        }
        write_calls(argv[1]);
        write_arguments(argv[2]);
        return 0;
}
