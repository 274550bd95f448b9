/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a machine refuses what a sandbox is made of, and what to do about it. A failed start (failure.c) and
 * `hutch doctor` give the same reasons. One function looks at the machine and others judge, so that the tests
 * can make up machines. Nothing here changes anything.
 */
#ifndef HUTCH_NS_DIAGNOSE_H
#define HUTCH_NS_DIAGNOSE_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum namespace_kind {
        NAMESPACE_USER,
        NAMESPACE_MOUNT,
        NAMESPACE_PID,
        NAMESPACE_NETWORK,
        NAMESPACE_IPC,
        NAMESPACE_UTS,
        NAMESPACE_CGROUP,
        NAMESPACE_KINDS
};

/* The settings that decide about namespaces. A number is -1 where the kernel has no such setting. */
struct machine {
        long userns_clone;                    /* kernel.unprivileged_userns_clone (Debian's kernels) */
        long namespaces_max[NAMESPACE_KINDS]; /* user.max_*_namespaces of the present user namespace */
        long apparmor_restricts;              /* kernel.apparmor_restrict_unprivileged_userns (Ubuntu's) */
        bool apparmor_profile;                /* /etc/apparmor.d/hutch exists */
        char apparmor_label[128];             /* this process's, "" without AppArmor */
        bool selinux_enforces;
        bool filtered;          /* a seccomp filter confines this process, as in most containers */
        char program[PATH_MAX]; /* hutch's path, "" when unknown */
};

/* Fills *machine from /proc, /sys and /etc below `root`, which is "" outside of tests. */
void machine_look(struct machine *machine, const char *root);

/* True for the errno of a policy: the kernel could, and something does not permit it. */
static inline bool diagnose_is_refusal(int error)
{
        return error == EPERM || error == EACCES;
}

struct reason {
        char why[384];
        char fix[640];
};

/* Names the sysctl that forbids namespaces, or limits them to 0. False when none does. */
bool diagnose_settings(const struct machine *machine, struct reason *reason);

/* Says why the kernel made no namespaces (positive errno). False when only the errno is known. */
bool diagnose_namespaces(const struct machine *machine, int error, struct reason *reason);

/* Says why a later step was refused (EPERM or EACCES) although the namespaces were made. `proc`: the step was
 * the mount of a fresh /proc. */
void diagnose_refused_step(const struct machine *machine, bool proc, int error, struct reason *reason);

#endif
