/* SPDX-License-Identifier: Apache-2.0
 *
 * The compiler behind program.h, for the architecture one names: the build-time generator may compile for
 * another machine than the one it runs on.
 */
#ifndef HUTCH_SECCOMP_COMPILE_H
#define HUTCH_SECCOMP_COMPILE_H

#include "lib/err.h"
#include "seccomp/program.h"

#include <stddef.h>
#include <stdint.h>

/* A JSON text, and what messages call it. */
struct seccomp_source {
        const char *name;
        const char *json;
        size_t length;
        bool must_start_programs;   /* refuse it when it permits no execve or no exit_group */
        bool keep_every_comparison; /* leave the program as libseccomp wrote it, for a test to compare with */
};

/* Compiles an OCI profile for `architecture` (a token of libseccomp: SCMP_ARCH_X86_64…). `changes`, or NULL,
 * is a second text of the same format of which only `syscalls` counts: its rules replace every rule of the
 * profile for the calls they name. What is refused stands at seccomp_compile(). */
bool seccomp_compile_for(uint32_t architecture, const struct seccomp_source *profile,
                         const struct seccomp_source *changes, struct seccomp_program *program,
                         struct error *error);

#endif
