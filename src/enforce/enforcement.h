/* SPDX-License-Identifier: Apache-2.0
 *
 * Holds the limits of one sandbox while it runs, and reports which mechanism holds each of them.
 *
 * Theory of operation
 *
 * limits/ names the mechanism that could hold each limit. This directory tries them in a fixed order and
 * believes only what it has read back:
 *
 *   1. a scope of the caller's systemd, requested over D-Bus (systemd_scope.h, cgroup.h);
 *   2. a cgroup that hutch makes in a delegated one (cgroup.h);
 *   3. without a cgroup: resource limits that ns/ sets, and for memory the watchdog in pid 1
 *      (ns/memory_watch.h), which measures. It can overshoot between two looks.
 *
 *   before the launch   enforcement_begin()            makes the delegated cgroup, or connects to systemd
 *   after the launch    enforcement_request_cgroup()   asks systemd to put pid 1 into a scope
 *   answer or timeout   enforcement_settle_cgroup()    reads the limits back, checks --require, tells pid 1
 *   while it runs       enforcement_read()             reports a limit that was reached, once
 *                       enforcement_hear()             the same of one that pid 1 reports
 *
 * The supervisor decides and pid 1 obeys: pid 1 executes nothing before it has read from the permission pipe
 * what the cgroup holds, so the server never runs under a limit that is not known to hold. Only the kernel
 * and hutch write the files of a cgroup. The bus belongs to the caller, and its messages are parsed as
 * untrusted bytes all the same. No lock is needed: one supervisor owns one struct enforcement, and the name
 * of a delegated cgroup holds the process id of its supervisor, so that a later hutch can remove what a
 * killed one left.
 */
#ifndef HUTCH_ENFORCE_ENFORCEMENT_H
#define HUTCH_ENFORCE_ENFORCEMENT_H

#include "box/box.h"
#include "enforce/cgroup.h"
#include "ns/control.h"
#include "ns/launch.h"

#include <poll.h>

enum { ENFORCEMENT_POLLS = 3 }; /* descriptors that enforcement_poll() fills in */

/* Called when a limit ends the sandbox or refuses it something. `limit` is the option without its dashes,
 * `mechanism` a name of limits.h. */
typedef void enforcement_limit(void *context, const char *limit, const char *value, const char *mechanism);

struct enforcement {
        const struct box *box;
        enforcement_limit *limit_reached;
        void *context;        /* of limit_reached */
        struct limits limits; /* those of the box, with the mechanisms that really hold them */
        struct cgroup cgroup;
        struct launch *launch;     /* pid 1 waits on its permission pipe until the cgroup is settled */
        long long cgroup_deadline; /* monotonic ms: when the wait for systemd ends; -1: nothing is awaited */
        bool limit_hit;            /* a limit ended the sandbox, and a message has said so */
};

enum enforcement_event {
        ENFORCEMENT_NONE,
        ENFORCEMENT_LIMIT_REACHED, /* end the sandbox: a message has named the limit */
        ENFORCEMENT_LOST,          /* end the sandbox: a limit no longer holds; see enforcement_read() */
};

/* Nothing is open. The caller ends with cgroup_remove(), which is safe at any time. */
#define ENFORCEMENT_NONE_YET ((struct enforcement){.cgroup = CGROUP_NONE_YET, .cgroup_deadline = -1})

/* Before the launch: makes the cgroup or connects to systemd. False when a limit of --require does not hold.
 */
bool enforcement_begin(struct enforcement *enforcement, const struct box *box,
                       enforcement_limit *limit_reached, void *context, struct error *error);

/* The directory of the cgroup that the sandbox is cloned into, or -1. Stays the enforcement's. */
int enforcement_cgroup(const struct enforcement *enforcement);

/* After the launch: asks systemd for a scope around pid 1, where that is the mechanism. False when a limit of
 * --require does not hold. */
bool enforcement_request_cgroup(struct enforcement *enforcement, struct launch *launch, struct error *error);

/* Called by the functions of this module once it is known whether there is a cgroup (`made`). Reads back what
 * it holds, falls back to the mechanisms without a cgroup, and tells pid 1, which waits for this. False when
 * a limit of --require does not hold. */
bool enforcement_settle_cgroup(struct enforcement *enforcement, bool made, struct error *error);

/* Handles one report of pid 1; others than those of limits are ignored. */
enum enforcement_event enforcement_hear(struct enforcement *enforcement,
                                        const struct control_message *report);

/* Fills in ENFORCEMENT_POLLS entries. */
void enforcement_poll(const struct enforcement *enforcement, struct pollfd *polls);

/* Handles what poll() reported on those entries. With ENFORCEMENT_LOST, *error is set, because the command
 * has not run yet. */
enum enforcement_event enforcement_read(struct enforcement *enforcement, const struct pollfd *polls,
                                        struct error *error);

/* Stops waiting for systemd once cgroup_deadline has passed. False when a limit of --require does not hold.
 */
bool enforcement_meet_deadline(struct enforcement *enforcement, struct error *error);

/* Reports a limit that the kernel has enforced. Called once more after the sandbox ended, for its last
 * moments.
 */
enum enforcement_event enforcement_read_cgroup(struct enforcement *enforcement);

#endif
