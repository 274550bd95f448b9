/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting the program of a fetched package itself, in the place of npx or uvx, which would find out over
 * again, for a second, what is known already. It is the program that they would start, by the same path and
 * with the same words; where that is not certain they are started. What lies in the entry is hostile: the
 * program must be a file in it, and nothing of it is ever granted, or run outside.
 */
#ifndef HUTCH_PACKAGES_START_H
#define HUTCH_PACKAGES_START_H

#include "box/box.h"
#include "command/toolchain.h"
#include "packages/mounts.h"

/* Once everything but the order of the mounts is decided: changes what is executed, and the environment. */
void package_start(struct box *box, const struct toolchain *toolchain, const struct package_mounts *use);

#endif
