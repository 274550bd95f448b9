/* SPDX-License-Identifier: Apache-2.0
 *
 * System call filters. A profile in the OCI format becomes a classic BPF program with libseccomp: the
 * built-in profiles at build time (a native generator embeds them), a person's own (`--seccomp FILE`) at run
 * time, kept in a cache. The server gets two programs stacked: (a) the profile, an allow-list; (b) a small
 * one that permits everything except a few arguments. They are two because one libseccomp filter that both
 * permits `ioctl` and denies TIOCSTI permits it. Load (b) first: the profile need not permit seccomp(2), and
 * of two filters that refuse a call the kernel gives the error of the one loaded last.
 */
#ifndef HUTCH_SECCOMP_PROGRAM_H
#define HUTCH_SECCOMP_PROGRAM_H

#include "lib/err.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>

struct seccomp_program {
        const struct sock_filter *code; /* `owned`: of malloc(), else embedded in the binary */
        unsigned short length;          /* instructions, 1…4096 */
        bool owned;
};

/* The built-in profile for the server; `userns` selects the variant of --allow-userns, in which the calls
 * that make user namespaces and mounts inside them are permitted and clone3 exists. Never fails. */
struct seccomp_program seccomp_builtin(bool userns);

/* What the argument filter (b) leaves out or adds. */
enum {
        SECCOMP_USERNS = 1,      /* --allow-userns: clone3 exists and namespaces may be made */
        SECCOMP_NO_UNSEEN = 2,   /* no memory that belongs to no process and no file system in sight */
        SECCOMP_NO_AFFINITY = 4, /* the processors that a process may use are fixed */
};

/* With SECCOMP_NO_UNSEEN: bytes of the largest piece of memory that processes may share without a file, which
 * every smaller one counts for as well. Few programs have one, mostly for their own workers' sake. */
#define SECCOMP_SHARED_MOST (16U << 20)

/* The argument filter (b) for these bits. It holds under a person's own profile too. The result lies in one
 * static place: it is good until the next call. */
struct seccomp_program seccomp_arguments(unsigned bits);

/* What the sandbox's pid 1, and the supervisor, may call once the server runs: stated in
 * policy/seccomp/init.json (init-publish.json where it dials) and supervisor.json; the watchdog over memory,
 * watchdog.json. */
struct seccomp_program seccomp_for_init(bool dials);
struct seccomp_program seccomp_for_supervisor(void);
struct seccomp_program seccomp_for_watchdog(void);
/* The process that watches the host's names: names.json. */
struct seccomp_program seccomp_for_names(void);

/* Compiles an OCI profile, as container engines write it too, for a server. `name` stands in messages. What
 * holds:
 *  - Calls of any architecture but the native one (x32 included) fail with ENOSYS, whatever `architectures`
 * says.
 *  - Calls newer than the newest one that the profile names fail with ENOSYS, not with the default error: a
 * libc tries a new call first and falls back only then. (Not where the default permits.)
 *  - SCMP_ACT_KILL, KILL_THREAD and KILL_PROCESS kill, as written: the built-in profiles never do.
 *  - Rules under `includes`/`excludes` of the engines are judged as in a container without any capability.
 *  - Names of calls that this libseccomp does not know are skipped, as the engines do; so is a rule whose
 * action is the default. Between rules for one call, one without `args` wins. Refused with a sentence (status
 * 125): text that is no JSON, an unknown action or operator, SCMP_ACT_TRACE and NOTIFY, an argument index
 * that stands twice in one rule, a number over 2^53, a program longer than the kernel takes, a profile that
 * does not let a program start at all (no execve, no exit_group). Free the result with seccomp_free(). */
bool seccomp_compile(const char *name, const char *json, size_t length, struct seccomp_program *program,
                     struct error *error);

/* The same through the cache in $XDG_CACHE_HOME/hutch/seccomp (else ~/.cache/hutch/seccomp). An entry is
 * named by a hash, but it holds all that its program was made from, and only equality of that counts.
 * Directories that are not the caller's or that others can write are not used, and no link is followed. A
 * cache that cannot be used costs time, nothing else. Who can write it chooses the filter: no sandbox may get
 * it as a writable grant. */
bool seccomp_compile_cached(const char *name, const char *json, size_t length,
                            struct seccomp_program *program, struct error *error);

void seccomp_free(struct seccomp_program *program);

/* Loads a program into the calling thread for good; needs no_new_privs. 0 or a negative errno. Makes no call
 * but seccomp(2), so that it can be the last thing before execve(). (libseccomp owns the name seccomp_load.)
 */
int seccomp_install(const struct seccomp_program *program);

#endif
