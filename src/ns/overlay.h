/* SPDX-License-Identifier: Apache-2.0
 *
 * --overlay: a writable view of a host directory whose changes stay in the sandbox's memory.
 */
#ifndef HUTCH_NS_OVERLAY_H
#define HUTCH_NS_OVERLAY_H

#include "ns/entering.h"

/* A detached overlay of the source of box->mounts[index]. `memory` is the root of the memory file system that
 * takes the changes. Changes the working directory. The caller closes the result. */
int overlay_make(const struct entering *entering, int memory, size_t index);

#endif
