/* SPDX-License-Identifier: Apache-2.0
 *
 * The facts behind `hutch doctor`, as plain data: files of /proc, /sys and /dev, some questions to the
 * kernel, and the results of sandboxes that were started. This module judges nothing and changes nothing.
 */
#ifndef HUTCH_DOCTOR_FACTS_H
#define HUTCH_DOCTOR_FACTS_H

#include "doctor/trial.h"
#include "lib/str.h"
#include "limits/limits.h"
#include "ns/diagnose.h"

#include <sys/types.h>

enum cgroup_layout {
        CGROUP_NONE,
        CGROUP_V1,
        CGROUP_HYBRID, /* version 2 without controllers, in addition to version 1 */
        CGROUP_V2,
};

enum { TOOL_COUNT = 7 };

/* A program that starts MCP servers, tried with `hutch mcp -- NAME --version`. */
struct tool_fact {
        const char *name;
        char *path;   /* the result of the search on PATH, or NULL */
        char *real;   /* the path behind all links, or NULL */
        char *copies; /* where it is if not on PATH (search_list_copies()), or NULL */
        struct trial trial;
};

struct facts {
        struct machine machine;
        char *release; /* of the kernel; "" when unknown */
        uid_t uid;
        struct str_list groups;      /* names of the supplementary groups, without the primary group */
        struct str_list proc_covers; /* mount points below /proc that hide something in it */
        int landlock_abi;            /* 0: none */
        bool landlock_disabled;      /* the kernel has it, but it was not enabled at boot */
        char *modules;               /* security modules, from /sys/kernel/security/lsm, or "" */
        bool seccomp_filters;        /* the kernel knows the action that hutch's filters use */
        bool kvm_device;             /* /dev/kvm exists */
        int kvm_error;               /* errno of opening it, or 0 */
        bool kvm_paravirtual;        /* the module kvm_pvm is loaded: it cannot run a stock kernel */
        enum cgroup_layout cgroups;
        bool cgroup_delegated; /* version 2: the caller may create groups below its own */
        bool bus;              /* the caller's systemd answers on D-Bus */

        struct limits limits; /* the default limits and --cpus 1, with the mechanism for each */

        struct trial plain;   /* as `hutch mcp` does it */
        struct trial no_proc; /* tried only if mounting a fresh /proc failed */
        struct trial overlay; /* tried only if `plain` started */
        struct tool_fact tools[TOOL_COUNT];
};

/* Reads everything that can be read. Paths are below `root`, which is "" outside tests. */
void facts_read(struct facts *facts, const char *root);

/* Starts the sandboxes. `settled`: an error that `hutch mcp` would report before the first step, or status 0.
 * Takes as long as the tools take to print their versions. Main thread only. */
void facts_try(struct facts *facts, const struct error *settled);

void facts_free(struct facts *facts);

#endif
