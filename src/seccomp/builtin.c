/* SPDX-License-Identifier: Apache-2.0
 *
 * See builtin.h.
 */
#include "seccomp/builtin.h"

/* seccomp-generate makes these from policy/seccomp. */
#include "seccomp-allow-userns.h"
#include "seccomp-default.h"
#include "seccomp-init-publish.h"
#include "seccomp-init.h"
#include "seccomp-supervisor-names.h"
#include "seccomp-supervisor.h"

#define EMBEDDED(array)                                                                                      \
        ((struct seccomp_program){                                                                           \
            .code = (array), .length = sizeof(array) / sizeof((array)[0]), .owned = false})

struct seccomp_program seccomp_builtin(bool userns)
{
        return userns ? EMBEDDED(program_allow_userns) : EMBEDDED(program_default);
}

struct seccomp_program seccomp_for_init(bool dials)
{
        return dials ? EMBEDDED(program_init_publish) : EMBEDDED(program_init);
}

struct seccomp_program seccomp_for_supervisor(bool names)
{
        return names ? EMBEDDED(program_supervisor_names) : EMBEDDED(program_supervisor);
}
