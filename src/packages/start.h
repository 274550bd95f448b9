/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting the program of a fetched package directly, in place of npx or uvx, which would need a second to
 * find out again what is known already. The rule: there is an entry, the words are plain, and for npx no
 * node_modules/.bin/NAME is at or above the working directory; or else npx or uvx start as usual. Settings,
 * manifests and global packages do not count. The content of an entry is hostile: the record outside it names
 * the program, which must be a file in the entry, and hutch never runs it outside or grants anything because
 * of it.
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
