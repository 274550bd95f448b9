/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting a sandbox by Linux namespaces. Reads the box, never options or policy files.
 */
#ifndef HUTCH_NS_LAUNCH_H
#define HUTCH_NS_LAUNCH_H

#include "box/box.h"
#include "ns/diagnose.h"
#include "ns/entering.h"

#include <sys/types.h>

/* How the server is connected; every descriptor stays the caller's. */
struct launch_stdio {
        int server[3];   /* what the server gets as 0, 1, 2 */
        int terminal;    /* the terminal that is passed through, or -1: a new session without one */
        bool foreground; /* the server's process group gets the terminal */
        int nat;         /* where hutch-nat gets its sockets, if the box has a network */
        int dialler;     /* where it asks for connections to published ports, if there are any */
        const struct limits *limits; /* the box's, with what holds them as far as it is known */
        int group;                   /* the control group to begin in, or -1 */
        int watchdog;                /* where the watchdog over memory gets what it looks at, or -1 */
};

/* A sandbox that was started, as its supervisor holds it. */
struct launch {
        int init;    /* pidfd of pid 1 of the sandbox */
        int control; /* control.h; close-on-exec */
        int failure; /* reads one struct failure if a step fails, or end of file once the server was executed
                      */
        pid_t process;  /* its number, as this process sees it */
        int permission; /* takes what the control group holds (limits.h), one byte; -1: nobody waits for it */
        int refused;    /* when launch_start() is false: the errno of the clone, or 0 when it failed before */
};

/* Clones pid 1 of a new sandbox, which goes through all the steps on its own. Returns at once: whether they
 * succeed is to be read from launch->failure. False with a sentence when not even the clone succeeded. Must
 * be called from the main thread (the kernel's parent-death signal follows the thread that cloned). */
bool launch_start(const struct box *box, const struct launch_stdio *stdio, struct launch *launch,
                  struct error *error);

/* Where the kernel keeps this process's argv and environment, so that pid 1 can blank its copy; call first in
 * main(), before anything changes the environment. */
void launch_remember_arguments(int argc, char **argv, char **environment);

/* failure.c: turns a failed step into one sentence with its cause and what to do, and the exit status. */
void failure_explain(const struct failure *failure, struct error *error);

/* failure.c: what of this machine made the step fail, where it is a matter of the machine; else false. */
bool failure_diagnose(const struct failure *failure, const struct machine *machine, struct reason *reason);

/* init.c: the rest of pid 1's life: starts the server, then reaps and forwards. */
_Noreturn void init_run(struct entering *entering, bool foreground);

#endif
