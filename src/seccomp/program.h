/* SPDX-License-Identifier: Apache-2.0
 *
 * System call filters: a classic BPF program, and loading it.
 *
 * Theory of operation. libseccomp compiles a profile in the OCI format to a program (compile.h). A native
 * generator does so at build time with the profiles of policy/seccomp, for the target's architecture; it
 * shortens the programs (ranges.h), and hutch embeds them (builtin.h). The user's profile (`--seccomp FILE`)
 * is compiled at run time.
 *
 * The server gets two stacked programs: (a) the profile, which is an allow-list, and (b) the argument filter,
 * a small program that permits everything but a few arguments (arguments.h). One libseccomp filter cannot do
 * both: where it permits `ioctl` and denies TIOCSTI, it permits TIOCSTI. (b) is loaded first, so that the
 * profile need not permit seccomp(2). When both refuse a call, the kernel gives the error of the one that was
 * loaded last.
 *
 * The server is hostile. The user's profile is trusted to be what the user wants, but not to be correct: what
 * cannot be honoured is refused, and (b) holds under it too.
 */
#ifndef HUTCH_SECCOMP_PROGRAM_H
#define HUTCH_SECCOMP_PROGRAM_H

#include <linux/filter.h>
#include <stdbool.h>

struct seccomp_program {
        const struct sock_filter *code; /* from malloc() when `owned`, else embedded in the binary */
        unsigned short length;          /* instructions, 1 to 4096 */
        bool owned;
};

/* Frees the code of an owned program and zeroes *program. */
void seccomp_free(struct seccomp_program *program);

/* Loads a program into the calling thread for good; it needs no_new_privs. 0, or a negative errno. It makes
 * no call but seccomp(2), so that it can be the last thing before execve(). (libseccomp already has a
 * seccomp_load().) */
int seccomp_install(const struct seccomp_program *program);

#endif
