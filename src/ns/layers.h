/* SPDX-License-Identifier: Apache-2.0
 *
 * The layers of a sandbox, by name. The tests show that each layer protects by itself: their build
 * (tests/layers.c) can leave single layers out. In every other build layer_enabled() is the constant true, so
 * the program contains neither the decision nor the names.
 */
#ifndef HUTCH_NS_LAYERS_H
#define HUTCH_NS_LAYERS_H

#include <stdbool.h>

enum layer {
        LAYER_USER,              /* the user namespace; all up to LAYER_BUDGETS need it */
        LAYER_MOUNT,             /* the mount namespace and the sandbox's root */
        LAYER_READ_ONLY,         /* all mounts but writable grants are read-only */
        LAYER_PROC_MASKS,        /* files of /proc that describe the whole machine or act on it */
        LAYER_PID,               /* the pid namespace */
        LAYER_NETWORK,           /* the network namespace */
        LAYER_IPC,               /* the namespace of System V objects and POSIX message queues */
        LAYER_NAMES,             /* the UTS and cgroup namespaces */
        LAYER_BUDGETS,           /* budgets of kernel objects in the user namespace */
        LAYER_LIMITS,            /* resource limits */
        LAYER_CAPABILITIES,      /* empty sets, empty bounding set, locked securebits */
        LAYER_NO_NEW_PRIVS,      /* execve() gives no privilege */
        LAYER_SESSION,           /* the server is in a new session */
        LAYER_LANDLOCK_FILES,    /* writes below writable grants only */
        LAYER_LANDLOCK_SCOPES,   /* no signal and no abstract socket beyond the sandbox */
        LAYER_SECCOMP_PROFILE,   /* filter (a) of seccomp/program.h, and the filter of pid 1 */
        LAYER_SECCOMP_ARGUMENTS, /* filter (b) */
        LAYER_COUNT
};

#ifdef HUTCH_TEST_LAYERS
bool layer_enabled(enum layer layer);
#else
static inline bool layer_enabled(enum layer layer)
{
        (void)layer;
        return true;
}
#endif

#endif
