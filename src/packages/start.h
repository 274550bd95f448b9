/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting the program of a fetched package directly, in place of npx or uvx, which would need a second to
 * find out again what is known already. It is the same program, with the same path and words; where that is
 * not certain, npx or uvx start as usual. The content of an entry is hostile: the program must be a file in
 * the entry, and hutch never runs it outside or grants anything because of it.
 */
#ifndef HUTCH_PACKAGES_START_H
#define HUTCH_PACKAGES_START_H

#include "box/box.h"
#include "command/toolchain.h"
#include "packages/mounts.h"

/* Changes what the box executes, and its environment. Everything but the order of its mounts must be decided.
 */
void package_start(const struct resolver *resolver);

#endif
