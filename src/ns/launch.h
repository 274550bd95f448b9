/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting a sandbox with Linux namespaces.
 *
 * Theory of operation. The supervisor clones one child into new namespaces. The child builds the sandbox
 * around itself from the box, gives up all its privileges, forks the server and stays as pid 1 (launch.c
 * names the steps in their order; each is a module of this directory). Every decision was taken before the
 * clone: a step reads the box and never an option or a policy file. No step is retried in a weaker form. One
 * that fails ends the child before the server exists, and the supervisor turns {stage, errno, path} into one
 * sentence (failure.h).
 *
 * Who is hostile: the server, from its first instruction, and whoever can rename files in a grant while the
 * sandbox starts. So each source is compared with the device and inode that were judged, and no path below a
 * mount is resolved through a link.
 */
#ifndef HUTCH_NS_LAUNCH_H
#define HUTCH_NS_LAUNCH_H

#include "box/box.h"
#include "ns/failure.h"

#include <sys/types.h>

/* What the sandbox is connected to and bounded by. Every descriptor stays the caller's; -1: none. */
struct launch_stdio {
        int server[3];   /* the server's descriptors 0, 1, 2 */
        int terminal;    /* the terminal that is passed through; -1: the server gets a session without one */
        bool foreground; /* the server's process group gets the terminal */
        int nat;         /* hutch-nat gets its sockets here; -1: the sandbox has a loopback only */
        int dialler;     /* hutch-nat asks pid 1 for connections to published ports here */
        const struct limits *limits; /* the box's, with the mechanism of each as far as it is known */
        int group;                   /* the directory of the cgroup to start in */
        int status[2]; /* of --status-fd; the child closes them before all else, so nothing in the sandbox has
                          them */
};

/* A started sandbox, as its supervisor holds it. The caller closes the descriptors. */
struct launch {
        int init;       /* pidfd of the sandbox's pid 1 */
        int control;    /* control.h; close-on-exec */
        int failure;    /* one struct failure if a step failed; end of file once the server was executed */
        pid_t process;  /* pid 1's number outside */
        int permission; /* pid 1 waits here for one byte, what the cgroup holds (limits.h); -1: it does not */
        struct failure failed; /* when launch_start() is false: the clone that the kernel refused */
};

/* Clones pid 1 of a new sandbox and returns without waiting for its steps: launch->failure reports on them.
 * False, with a sentence, when there was no clone. Call it from the main thread: the kernel sends the
 * parent-death signal when the cloning thread ends. */
bool launch_start(const struct box *box, const struct launch_stdio *stdio, struct launch *launch,
                  struct error *error);

/* Notes where the kernel keeps this process's argv and environment, so that pid 1 can blank its copy. Call it
 * first in main(), before anything changes the environment. */
void launch_remember_arguments(int argc, char **argv, char **environment);

#endif
