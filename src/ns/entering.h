/* SPDX-License-Identifier: Apache-2.0
 *
 * The state that the steps of entering a sandbox share. The steps run in the cloned child, in the order of
 * launch.c. Each one succeeds or ends the child with entering_fail(). Nothing needs to be undone: what the
 * steps made belongs to namespaces that end with the child.
 */
#ifndef HUTCH_NS_ENTERING_H
#define HUTCH_NS_ENTERING_H

#include "box/box.h"
#include "ns/failure.h"
#include "ns/launch.h"
#include "seccomp/program.h"

/* Everything that the child needs beside the box. A descriptor is -1 when there is none. */
struct entering {
        const struct box *box;
        struct launch_stdio stdio;

        /* connections to the supervisor */
        int failure;    /* write end of the failure pipe, close-on-exec */
        int control;    /* the sandbox's end of the control socket (control.h) */
        int supervisor; /* the supervisor's end of it; the child closes it before all else */
        int permission; /* the supervisor writes one byte here: what the cgroup holds; -1: it is known */
        int permit;     /* the write end of it; the child closes it before all else */

        /* the view: mount_point.c, rootfs.c, copy_in.c */
        int root;            /* the new root, once it is attached */
        dev_t *devices;      /* of the memory file systems; the first is the root's */
        int *memories;       /* the same as descriptors, for the watchdog */
        size_t device_count; /* entries of `devices` and `memories` */
        int *files;          /* the sources of box->files */

        /* the network: network.c */
        pid_t network_maker;                   /* the task that makes the network namespace */
        struct network_result *network_result; /* what it reports */

        /* the limits: launch.c, rlimits.c, memory_watch.c */
        struct limits limits;  /* the box's, with the mechanism that holds each */
        bool cgroup_namespace; /* make a cgroup namespace once the cgroup is known */
        unsigned spread;       /* differs from sandbox to sandbox: the first processor to use */
        int proc;              /* the sandbox's /proc as it shows every process, for the watchdog */

        /* the filters */
        int landlock_abi;                 /* 0: the kernel has no Landlock */
        struct seccomp_program profile;   /* (a) of seccomp/program.h */
        struct seccomp_program arguments; /* (b) */
        struct seccomp_program init_filter;
};

/* Reports the failure to the supervisor and ends the calling process. `error` is a positive errno; `path` may
 * be NULL. */
_Noreturn void entering_fail(const struct entering *entering, enum stage stage, int error, const char *path);

/* Does so with errno when `result`, that of a system call, is negative. Returns the result. */
int entering_check(const struct entering *entering, enum stage stage, const char *path, long result);

#endif
