/* SPDX-License-Identifier: Apache-2.0
 *
 * The programs that were compiled from policy/seccomp when hutch was built. The profiles there say which
 * calls each process may make, and why.
 */
#ifndef HUTCH_SECCOMP_BUILTIN_H
#define HUTCH_SECCOMP_BUILTIN_H

#include "seccomp/program.h"

/* The server's profile. With `userns`, for --allow-userns, it permits the calls that make user namespaces,
 * and mounts inside them, and clone3. */
struct seccomp_program seccomp_builtin(bool userns);

/* The sandbox's pid 1, once the server runs; `dials`: it connects for --publish. */
struct seccomp_program seccomp_for_init(bool dials);

/* The supervisor, once the server runs; `names`: it follows the host's names, confined by Landlock. */
struct seccomp_program seccomp_for_supervisor(bool names);

#endif
