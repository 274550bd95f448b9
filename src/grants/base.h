/* SPDX-License-Identifier: Apache-2.0
 *
 * What every sandbox on the host tree has: the programs and libraries of the machine, its own /etc (etc.h),
 * /proc, devices, and the writable directories in memory.
 */
#ifndef HUTCH_GRANTS_BASE_H
#define HUTCH_GRANTS_BASE_H

#include "grants/resolver.h"

/* Adds all of it to an empty list of mounts. box->home must be set. */
bool base_add(const struct resolver *resolver);

#endif
