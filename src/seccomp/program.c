/* SPDX-License-Identifier: Apache-2.0
 *
 * See program.h.
 */
#include "seccomp/program.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

void seccomp_free(struct seccomp_program *program)
{
        if (program->owned)
                free((void *)program->code);
        *program = (struct seccomp_program){0};
}

int seccomp_install(const struct seccomp_program *program)
{
        /* The kernel only reads the code, though its type has no const. */
        const struct sock_fprog code = {.len = program->length,
                                        .filter = (struct sock_filter *)program->code};

        return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &code) < 0 ? -errno : 0;
}
