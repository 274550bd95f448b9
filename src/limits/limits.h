/* SPDX-License-Identifier: Apache-2.0
 *
 * What a sandbox may use of the machine, and which mechanism enforces each limit. The first that exists of
 * three: a cgroup that the caller's systemd makes, a group below one that was delegated to the caller,
 * and what the kernel has for single processes. Choosing looks at the machine and changes nothing.
 */
#ifndef HUTCH_LIMITS_LIMITS_H
#define HUTCH_LIMITS_LIMITS_H

#include "lib/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define LIMITS_MEMORY_DEFAULT (2ULL << 30)
#define LIMITS_DISK_DEFAULT   (1ULL << 30)

/* With less, an ordinary interpreter dies without a message before its first line. A forgotten unit gives
 * less. */
#define LIMITS_MEMORY_LEAST (6ULL << 20)
#define LIMITS_DISK_LEAST   (64ULL << 10)

enum {
        LIMITS_PIDS_DEFAULT = 1024,
        LIMITS_PIDS_MOST = 4000000, /* with what pid_max adds, below the kernel's PID_MAX_LIMIT */
        LIMITS_CPUS_WHOLE = 100,    /* struct limits counts hundredths of a processor */
        LIMITS_PATH_SIZE = 1024,    /* of a cgroup's path */
};

/* What enforces a limit. */
enum limit_mechanism {
        LIMIT_UNASKED,  /* there is no such limit */
        LIMIT_NONE,     /* there is one, and nothing on this machine enforces it */
        LIMIT_CGROUP,   /* a cgroup of version 2 */
        LIMIT_PID_MAX,  /* pid_max of the pid namespace: up to 300 more than asked for */
        LIMIT_RLIMIT,   /* a resource limit that the kernel counts for the user namespace */
        LIMIT_WATCHDOG, /* ns/memory_watch.h: measured, so that the sandbox may exceed it for a moment */
        LIMIT_AFFINITY, /* the affinity mask: so many processors and no others */
        LIMIT_MECHANISMS
};

enum cgroup_way {
        CGROUP_WAY_NONE,
        CGROUP_WAY_SYSTEMD,   /* a scope of the caller's systemd, or for root of the machine's */
        CGROUP_WAY_DELEGATED, /* a new group in `cgroup` */
};

/* --require, as bits. */
enum {
        REQUIRE_LANDLOCK = 1,
        REQUIRE_CGROUP = 2,
        REQUIRE_MEMORY = 4,
        REQUIRE_PIDS = 8,
        REQUIRE_CPUS = 16,
};

struct limits {
        uint64_t memory_bytes;
        unsigned pids;
        unsigned cpus;  /* hundredths of a processor; 0: no limit */
        unsigned given; /* REQUIRE_MEMORY, _PIDS, _CPUS: those that are not defaults */

        enum cgroup_way way;
        char cgroup[LIMITS_PATH_SIZE]; /* of CGROUP_WAY_DELEGATED: the directory in which the group is made */
        const char *no_cgroup;         /* why there is no group, half a sentence; NULL when there is one */
        enum limit_mechanism memory, processes, processors;
};

/* Chooses what will enforce each limit. `proc`: the sandbox has a /proc, in which the watchdog looks. */
void limits_choose(struct limits *limits, uid_t caller, bool proc);

/* The same without cgroups, for `why` (static). */
void limits_choose_without_cgroup(struct limits *limits, uid_t caller, bool proc, const char *why);

/* What a cgroup enforces, read back, as bits; 0: the group is not used. */
enum {
        CGROUP_HOLDS = 1, /* memory and processes */
        CGROUP_HOLDS_PROCESSORS = 2,
};

/* Settles what will enforce each limit, by these bits. */
void limits_settle(struct limits *limits, unsigned holds, uid_t caller, bool proc, const char *why);

/* False with a sentence when what is required would not be enforced: a watchdog does not count. */
bool limits_check(const struct limits *limits, unsigned required, struct error *error);

/* "cgroup", "watchdog (can overshoot)"… */
const char *limit_mechanism_name(enum limit_mechanism mechanism);

/* The names of the bits of --require, with a NULL behind the last. */
extern const char *const limits_requirements[];

/* The limits with what enforces each, as one line for users. The caller frees. */
char *limits_describe(const struct limits *limits, uint64_t disk_bytes);

/* The limits that were given and that nothing enforces, with why, as one line; NULL when there is none. The
 * caller frees. */
char *limits_describe_unheld(const struct limits *limits);

/* A size as options have it: 2g, 512m. `text` has room for 24 bytes; returns it. */
char *limits_write_size(uint64_t bytes, char *text);

/* True where each pid namespace has its own pid_max (Linux 6.14). Elsewhere the machine has one, which must
 * never be written. */
bool limits_pid_max_is_own(void);

/* The socket of the systemd that manages the caller's processes: 0, or a negative errno. For `path` of
 * LIMITS_PATH_SIZE bytes. */
int limits_systemd_socket(uid_t caller, char *path);

/* The path below /sys/fs/cgroup, beginning with a slash, that `text` names; `text` is the content of
 * /proc/PID/cgroup. The caller frees. NULL when the process is in no cgroup of version 2. */
char *limits_cgroup_path(const char *text);

/* Of --stop-grace: the end of input ends nothing. */
#define LIMIT_NO_GRACE UINT_MAX

enum userns_mode {
        USERNS_NONE,    /* max_user_namespaces is 0 inside */
        USERNS_ALLOWED, /* --allow-userns: for browsers; every other layer stays */
        USERNS_FULL,    /* --allow-userns=full: also no masks in /proc and no Landlock file layer */
};

#endif
