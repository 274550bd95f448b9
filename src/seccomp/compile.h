/* SPDX-License-Identifier: Apache-2.0
 *
 * The compiler: from a profile in the OCI format to a program.
 */
#ifndef HUTCH_SECCOMP_COMPILE_H
#define HUTCH_SECCOMP_COMPILE_H

#include "lib/err.h"
#include "seccomp/program.h"

#include <stddef.h>
#include <stdint.h>

/* Compiles a server's profile. `name` is its name in messages. Container engines write the format too; these
 * rules hold for it:
 *  - Calls of any architecture but the native one (x32 included) fail with ENOSYS, whatever `architectures`
 *    lists.
 *  - Calls newer than the newest one that the profile names fail with ENOSYS instead of the default error,
 *    unless the default permits them: a libc tries a new call first and falls back only after ENOSYS.
 *  - SCMP_ACT_KILL, KILL_THREAD and KILL_PROCESS kill, as written. The built-in profiles never do.
 *  - The engines' conditions, `includes` and `excludes`, are judged as in a container without a capability.
 *  - Calls that this libseccomp does not know are skipped, as the engines do, and so are rules with the
 *    default action. Of the rules for one call, one without `args` wins.
 *
 * Refused, with a sentence and status 125: text that is not JSON, an unknown action or operator,
 * SCMP_ACT_TRACE and SCMP_ACT_NOTIFY, two comparisons of one argument in one rule, a number over 2^53, a
 * program longer than the kernel accepts, and a profile under which no program can start (no execve, no
 * exit_group). The caller frees the result with seccomp_free(). */
bool seccomp_compile(const char *name, const char *json, size_t length, struct seccomp_program *program,
                     struct error *error);

/* A JSON text, and its name in messages. */
struct seccomp_source {
        const char *name;
        const char *json;
        size_t length;
        bool must_start_programs; /* refuse it when it permits no execve or no exit_group */
};

/* The same for `architecture` (a token of libseccomp such as SCMP_ARCH_X86_64): the build-time generator may
 * run on another machine than hutch. `changes`, or NULL, is a second text of the same format, of which only
 * `syscalls` counts: its rules replace all rules of the profile for the calls that they name. */
bool seccomp_compile_for(uint32_t architecture, const struct seccomp_source *profile,
                         const struct seccomp_source *changes, struct seccomp_program *program,
                         struct error *error);

#endif
