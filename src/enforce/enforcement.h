/* SPDX-License-Identifier: Apache-2.0
 *
 * What holds the limits of one sandbox while it runs: a control group where there is one, else the watchdog
 * over memory, and whom to ask for a group. The supervisor polls for it and ends the sandbox when it is told
 * to.
 */
#ifndef HUTCH_ENFORCE_ENFORCEMENT_H
#define HUTCH_ENFORCE_ENFORCEMENT_H

#include "box/box.h"
#include "enforce/cgroup.h"
#include "enforce/watchdog.h"
#include "ns/launch.h"

#include <poll.h>

enum { ENFORCEMENT_POLLS = 4 }; /* how many descriptors it waits for */

/* Called when a limit ends the sandbox or refuses it something: the option without its dashes, the value of
 * the limit, and the mechanism that holds it. */
typedef void enforcement_limit(void *context, const char *limit, const char *value, const char *mechanism);

struct enforcement {
        const struct box *box;
        enforcement_limit *limit_reached;
        void *context;        /* of limit_reached */
        struct limits limits; /* the box's, with what really holds them */
        struct cgroup group;
        struct watchdog watchdog;
        struct launch *launch; /* pid 1 waits for a word in it while a group is being made */
        long long group_at;    /* monotonic ms: when the wait for systemd ends, or -1 */
        bool hit;              /* a limit ended the sandbox, which was said */
};

enum enforcement_event {
        ENFORCEMENT_NOTHING,
        ENFORCEMENT_HIT,  /* the sandbox is to be ended: a limit is reached, which was said */
        ENFORCEMENT_LOST, /* the same: a limit does not hold any more, which was said or is in the error */
};

/* An enforcement without anything. */
void enforcement_init(struct enforcement *enforcement);

/* Before the launch: makes, or prepares to ask for, a group; prepares the watchdog. `limit_reached` is called
 * with `context`. */
bool enforcement_begin(struct enforcement *enforcement, const struct box *box,
                       enforcement_limit *limit_reached, void *context, struct error *error);

/* The directory of a group that the sandbox begins in, or -1. */
int enforcement_group(const struct enforcement *enforcement);

/* After the launch: asks systemd for the group of pid 1, which waits for the answer. False when what was
 * required does not hold. */
bool enforcement_ask(struct enforcement *enforcement, struct launch *launch, struct error *error);

/* Once the command was executed, and before the supervisor's filter: starts the watchdog where it is needed.
 * Not sooner: the sandbox builds itself on every processor that there is. */
enum enforcement_event enforcement_watch(struct enforcement *enforcement);

/* Fills ENFORCEMENT_POLLS entries; takes what they report. `ended`: the sandbox is gone, and with it what
 * there was to measure. With LOST, *error may be set: then the command never ran. */
void enforcement_poll(const struct enforcement *enforcement, struct pollfd *polls);
enum enforcement_event enforcement_read(struct enforcement *enforcement, const struct pollfd *polls,
                                        bool ended, struct error *error);

/* When it wants its turn (monotonic ms), or -1; that turn, if it is due. False when what was required does
 * not hold. */
long long enforcement_deadline(const struct enforcement *enforcement);
bool enforcement_meet_deadline(struct enforcement *enforcement, struct error *error);

/* After the sandbox: whether the kernel ended something of it for its memory, which is said. */
void enforcement_look(struct enforcement *enforcement);

/* At the end: hangs up on the watchdog, which ends meanwhile; then waits for it and removes the group. */
void enforcement_let_go(struct enforcement *enforcement);
void enforcement_end(struct enforcement *enforcement);

#endif
