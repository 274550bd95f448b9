/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a machine refuses what a sandbox is made of, and what to do about it: one judgement for the sentence of
 * a failed start (failure.c) and for `hutch doctor`. Looking at the machine and judging are two functions, so
 * that each judgement can be tested without such a machine. Nothing here changes anything.
 */
#ifndef HUTCH_NS_DIAGNOSE_H
#define HUTCH_NS_DIAGNOSE_H

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

/* What decides about namespaces on this machine. A number is -1 where the kernel has no such setting. */
struct machine {
        long userns_clone;                    /* kernel.unprivileged_userns_clone (Debian's kernels) */
        long namespaces_max[NAMESPACE_KINDS]; /* user.max_*_namespaces of the present user namespace */
        long apparmor_restricts;              /* kernel.apparmor_restrict_unprivileged_userns (Ubuntu's) */
        bool apparmor_profile;                /* /etc/apparmor.d/hutch exists */
        char apparmor_label[128];             /* this process's, "" without AppArmor */
        bool selinux_enforces;
        bool filtered;          /* this process is under a seccomp filter, as in most containers */
        char program[PATH_MAX]; /* hutch's own path, "" when unknown */
};

/* Fills *machine from /proc, /sys and /etc below `root`: "" but in tests. */
void machine_look(struct machine *machine, const char *root);

struct reason {
        char why[384];
        char fix[640];
};

/* A limit of 0 namespaces, or the sysctl that forbids them. False: no setting forbids them. */
bool diagnose_settings(const struct machine *machine, struct reason *reason);

/* Why the kernel made no namespaces (positive errno). False when there is nothing more to say than the errno.
 */
bool diagnose_namespaces(const struct machine *machine, int error, struct reason *reason);

/* Why a step was refused (EPERM, EACCES) although the namespaces were made; `proc`: it was the mount of a
 * fresh /proc. */
void diagnose_refused_step(const struct machine *machine, bool proc, int error, struct reason *reason);

#endif
