/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading a system call filter. It must never make a call but the one: a filter may already be in force that
 * permits little.
 */
#include "seccomp/program.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

int seccomp_install(const struct seccomp_program *program)
{
        /* The kernel's type has no const; it only reads. */
        const struct sock_fprog code = {.len = program->length,
                                        .filter = (struct sock_filter *)program->code};

        return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &code) < 0 ? -errno : 0;
}
