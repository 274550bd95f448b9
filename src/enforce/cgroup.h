/* SPDX-License-Identifier: Apache-2.0
 *
 * The control group of a sandbox: a scope that systemd makes around pid 1 while the sandbox builds itself, or
 * a group of hutch's own in a delegated one, made before. Either way it is read back before anything of the
 * server runs, and what does not hold there is not claimed. It must never touch a group that it did not make.
 */
#ifndef HUTCH_ENFORCE_CGROUP_H
#define HUTCH_ENFORCE_CGROUP_H

#include "enforce/systemd_scope.h"
#include "limits/limits.h"

enum { CGROUP_NAME_SIZE = 64, CGROUP_WHY_SIZE = 256, CGROUP_PATIENCE_MS = 5000 };

struct cgroup {
        struct systemd_scope bus;
        int directory;                  /* the group's, or -1 */
        int parent;                     /* of CGROUP_WAY_DELEGATED: where it is removed, or -1 */
        char name[CGROUP_NAME_SIZE];    /* there */
        int memory_events, pids_events; /* the kernel's counts; readable by POLLPRI when they change; or -1 */
        bool said_pids;
        char why[CGROUP_WHY_SIZE]; /* why there is none after all */
};

/* A group without anything. */
void cgroup_init(struct cgroup *group);

/* CGROUP_WAY_DELEGATED, before the launch: makes the group with its limits. False with group->why. */
bool cgroup_make(struct cgroup *group, const struct limits *limits);

/* CGROUP_WAY_SYSTEMD: connects before the launch, asks after it. False with group->why. */
bool cgroup_connect(struct cgroup *group, uid_t caller);
bool cgroup_ask(struct cgroup *group, pid_t process, const struct limits *limits);

/* When the bus has something. SYSTEMD_SCOPE_DONE: the group is open; group->why otherwise. */
enum systemd_scope_progress cgroup_read(struct cgroup *group, pid_t process);

/* Reads the limits back. False with group->why when memory or processes are not held; *processors: whether
 * these are. */
bool cgroup_check(struct cgroup *group, const struct limits *limits, bool *processors);

/* What happened in the group since the last time. */
enum cgroup_event {
        CGROUP_NOTHING,
        CGROUP_MEMORY,    /* the kernel ended what was in it */
        CGROUP_PROCESSES, /* a fork was refused; said once */
};
enum cgroup_event cgroup_look(struct cgroup *group);

/* Closes, and removes what cgroup_make() made. */
void cgroup_end(struct cgroup *group);

#endif
