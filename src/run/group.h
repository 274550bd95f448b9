/* SPDX-License-Identifier: Apache-2.0
 *
 * The control group of a sandbox: a scope that systemd makes around pid 1 while the sandbox builds itself, or
 * a group of hutch's own in a delegated one, made before. Either way it is read back before anything of the
 * server runs, and what does not hold there is not claimed. It must never touch a group that it did not make.
 */
#ifndef HUTCH_RUN_GROUP_H
#define HUTCH_RUN_GROUP_H

#include "box/limits.h"
#include "run/bus.h"

enum { GROUP_NAME_SIZE = 64, GROUP_WHY_SIZE = 256, GROUP_PATIENCE_MS = 5000 };

struct group {
        struct bus bus;
        int folder;                     /* the group's, or -1 */
        int parent;                     /* of CGROUP_WAY_DELEGATED: where it is removed, or -1 */
        char name[GROUP_NAME_SIZE];     /* there */
        int memory_events, pids_events; /* the kernel's counts; readable by POLLPRI when they change; or -1 */
        bool said_pids;
        char why[GROUP_WHY_SIZE]; /* why there is none after all */
};

/* A group without anything. */
void group_init(struct group *group);

/* CGROUP_WAY_DELEGATED, before the launch: makes the group with its limits. False with group->why. */
bool group_make(struct group *group, const struct limits *limits);

/* CGROUP_WAY_SYSTEMD: connects before the launch, asks after it. False with group->why. */
bool group_connect(struct group *group, uid_t caller);
bool group_ask(struct group *group, pid_t process, const struct limits *limits);

/* When the bus has something. BUS_DONE: the group is open; group->why otherwise. */
enum bus_progress group_read(struct group *group, pid_t process);

/* Reads the limits back. False with group->why when memory or processes are not held; *processors: whether
 * these are. */
bool group_check(struct group *group, const struct limits *limits, bool *processors);

/* What happened in the group since the last time. */
enum group_event {
        GROUP_NOTHING,
        GROUP_MEMORY,    /* the kernel ended what was in it */
        GROUP_PROCESSES, /* a fork was refused; said once */
};
enum group_event group_look(struct group *group);

/* Closes, and removes what group_make() made. */
void group_end(struct group *group);

#endif
