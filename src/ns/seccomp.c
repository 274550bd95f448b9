/* SPDX-License-Identifier: Apache-2.0
 *
 * The programs that were compiled when hutch was built, and loading one. It must never make a call in
 * seccomp_install() but the one: a filter may already be in force that permits little.
 */
#include "ns/seccomp.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Made from policy/seccomp/ by seccomp-generate. */
#include "seccomp-allow-userns.h"
#include "seccomp-default.h"
#include "seccomp-init.h"
#include "seccomp-supervisor.h"

#define EMBEDDED(array)                                                                                      \
        ((struct seccomp_program){                                                                           \
            .code = (array), .length = sizeof(array) / sizeof((array)[0]), .owned = false})

struct seccomp_program seccomp_builtin(bool userns)
{
        return userns ? EMBEDDED(program_allow_userns) : EMBEDDED(program_default);
}

struct seccomp_program seccomp_for_init(void)
{
        return EMBEDDED(program_init);
}

struct seccomp_program seccomp_for_supervisor(void)
{
        return EMBEDDED(program_supervisor);
}

int seccomp_install(const struct seccomp_program *program)
{
        /* The kernel's type has no const; it only reads. */
        const struct sock_fprog code = {.len = program->length,
                                        .filter = (struct sock_filter *)program->code};

        return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &code) < 0 ? -errno : 0;
}
