/* SPDX-License-Identifier: Apache-2.0
 *
 * The layers of a sandbox, by name. Each is there on its own account, and the tests show that: in a build of
 * theirs (tests/layers.c) single layers can be left out. In every other build all of them are enabled, which
 * is a constant: nothing that decides about it, and no name of a layer, is in the program.
 */
#ifndef HUTCH_NS_LAYERS_H
#define HUTCH_NS_LAYERS_H

#include <stdbool.h>

enum layer {
        LAYER_USER,              /* the user namespace with its one id: carries all up to LAYER_BUDGETS */
        LAYER_MOUNT,             /* the mount namespace with a root of its own */
        LAYER_READ_ONLY,         /* what is not granted writable is mounted read-only */
        LAYER_PROC_MASKS,        /* what of /proc speaks of or acts on the whole machine */
        LAYER_PID,               /* the pid namespace */
        LAYER_NETWORK,           /* the network namespace */
        LAYER_IPC,               /* the System V and POSIX message namespace */
        LAYER_NAMES,             /* namespaces of the host name and of control groups */
        LAYER_BUDGETS,           /* what the user namespace may take of the kernel */
        LAYER_LIMITS,            /* resource limits */
        LAYER_CAPABILITIES,      /* empty sets, empty bounding set, locked secure bits */
        LAYER_NO_NEW_PRIVS,      /* execve() gives nothing */
        LAYER_SESSION,           /* a session of the server's own */
        LAYER_LANDLOCK_FILES,    /* writes below writable grants only */
        LAYER_LANDLOCK_SCOPES,   /* no signal and no abstract socket beyond the sandbox */
        LAYER_SECCOMP_PROFILE,   /* filter (a) of seccomp/program.h, and that of pid 1 */
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
