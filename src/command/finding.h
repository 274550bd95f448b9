/* SPDX-License-Identifier: Apache-2.0
 *
 * What toolchain.c and the modules under it share while they find what one command needs.
 */
#ifndef HUTCH_COMMAND_FINDING_H
#define HUTCH_COMMAND_FINDING_H

#include "command/directories.h"
#include "command/toolchain.h"
#include "grants/resolver.h"

struct finding {
        const struct resolver *resolver;
        struct str_list projects; /* real paths: how far a reference may lead without an installation */
        bool doubted; /* a note already names a reference that is not followed; one note is enough */
        struct toolchain *result;
};

#endif
