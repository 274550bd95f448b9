/* SPDX-License-Identifier: Apache-2.0
 *
 * What `hutch doctor` finds out, as plain data: files of /proc, /sys and /dev, a few questions to the kernel,
 * and sandboxes that were really started. It judges nothing and changes nothing.
 */
#ifndef HUTCH_DOCTOR_FACTS_H
#define HUTCH_DOCTOR_FACTS_H

#include "doctor/trial.h"
#include "limits/limits.h"
#include "ns/diagnose.h"

#include <sys/types.h>

enum cgroup_layout {
        CGROUP_NONE,
        CGROUP_V1,
        CGROUP_HYBRID, /* version 2 beside version 1, without the controllers */
        CGROUP_V2,
};

enum { TOOL_COUNT = 7 };

/* A program that starts MCP servers, tried as `hutch mcp -- NAME --version`. */
struct tool_fact {
        const char *name;
        char *path;   /* what PATH has, or NULL */
        char *real;   /* where its links lead, or NULL */
        char *copies; /* where it lies when PATH does not have it (search_list_copies), or NULL */
        struct trial trial;
};

struct facts {
        struct machine machine;
        char *release; /* of the kernel; "" when unknown */
        uid_t uid;
        struct str_list groups;      /* names of the supplementary groups beside the primary one */
        struct str_list proc_covers; /* what is mounted below /proc and hides something of it */
        int landlock_abi;            /* 0: none */
        bool landlock_disabled;      /* the kernel has it, and it was not enabled at boot */
        char *modules;               /* security modules as /sys/kernel/security/lsm lists them, or "" */
        bool seccomp_filters;        /* the kernel knows the action that hutch's filters use */
        bool kvm_device;             /* /dev/kvm exists */
        int kvm_error;               /* errno of opening it, 0: it opens */
        bool kvm_paravirtual;        /* the module kvm_pvm: it cannot run a stock kernel */
        enum cgroup_layout cgroups;
        bool cgroup_delegated; /* version 2: groups may be made below the caller's own */
        bool bus;              /* the caller's systemd can be asked over D-Bus */

        struct limits limits; /* the default ones and --cpus 1, with what will hold them */

        struct trial plain;   /* what `hutch mcp` does */
        struct trial no_proc; /* tried only when the fresh /proc was what failed */
        struct trial overlay; /* tried only when `plain` started */
        struct tool_fact tools[TOOL_COUNT];
};

/* Everything that is read. Paths are below `root`: "" but in tests. */
void facts_read(struct facts *facts, const char *root);

/* Everything that is tried. `settled`: an error that `hutch mcp` would have met before any step, or status 0.
 * Main thread only; takes as long as the tools take to print their versions. */
void facts_try(struct facts *facts, const struct error *settled);

void facts_free(struct facts *facts);

#endif
