/* SPDX-License-Identifier: Apache-2.0
 *
 * The cgroup of one sandbox: a scope that systemd makes around pid 1 while the sandbox builds itself, or a
 * directory that hutch makes in a delegated cgroup before the launch. Its limits are read back before
 * anything of the server runs; a limit that is not found there is not reported as held. This module must
 * never change a cgroup that neither it nor systemd made for this sandbox.
 */
#ifndef HUTCH_ENFORCE_CGROUP_H
#define HUTCH_ENFORCE_CGROUP_H

#include "enforce/systemd_scope.h"
#include "limits/limits.h"

enum { CGROUP_NAME_SIZE = 64, CGROUP_WHY_SIZE = 256, CGROUP_TIMEOUT_MS = 5000 };

struct cgroup {
        struct systemd_scope scope;
        int directory;                  /* of the cgroup, or -1 */
        int parent;                     /* CGROUP_WAY_DELEGATED: the directory that holds it; else -1 */
        char name[CGROUP_NAME_SIZE];    /* its name there */
        int memory_events, pids_events; /* open event files, on which a change raises POLLPRI; or -1 */
        bool reported_pids;
        char why[CGROUP_WHY_SIZE]; /* half a sentence: why a function below failed */
};

#define CGROUP_NONE_YET                                                                                      \
        {                                                                                                    \
                .scope = {.socket = -1}, .directory = -1, .parent = -1, .memory_events = -1,                 \
                .pids_events = -1                                                                            \
        }

/* CGROUP_WAY_DELEGATED, before the launch: removes cgroups of hutch processes that no longer exist, makes a
 * new one in limits->cgroup and sets its limits. False with cgroup->why. */
bool cgroup_create(struct cgroup *cgroup, const struct limits *limits);

/* Writes the limits into the files of cgroup->directory. 0, or a negative errno. */
int cgroup_set_limits(const struct cgroup *cgroup, const struct limits *limits);

/* CGROUP_WAY_SYSTEMD: connects before the launch and asks for a scope around `process` after it. False with
 * cgroup->why. */
bool cgroup_connect_systemd(struct cgroup *cgroup, uid_t caller);
bool cgroup_request_scope(struct cgroup *cgroup, pid_t process, const struct limits *limits);

/* Call when cgroup->scope.socket is readable. SYSTEMD_SCOPE_DONE: `process` is in the scope and the scope's
 * directory is open. SYSTEMD_SCOPE_REFUSED: cgroup->why says why there is none. */
enum systemd_scope_progress cgroup_read_systemd(struct cgroup *cgroup, pid_t process);

/* Reads the limits back and opens the event files. False with cgroup->why when memory or processes are not
 * limited as asked. *processors becomes true when the processor time is. */
bool cgroup_verify(struct cgroup *cgroup, const struct limits *limits, bool *processors);

enum cgroup_event {
        CGROUP_EVENT_NONE,
        CGROUP_EVENT_MEMORY, /* the kernel killed what was in it */
        CGROUP_EVENT_PIDS,   /* the kernel refused a fork; reported once */
};

/* Reads the event files. Makes no call that the supervisor's filter refuses. */
enum cgroup_event cgroup_read_events(struct cgroup *cgroup);

/* Closes everything, and removes the directory that cgroup_create() made. Makes no call that the supervisor's
 * filter refuses. */
void cgroup_remove(struct cgroup *cgroup);

#endif
