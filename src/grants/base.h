/* SPDX-License-Identifier: Apache-2.0
 *
 * What every sandbox on the host tree has: the programs and libraries of the machine, an /etc of its own,
 * proc, devices, and the writable places in memory.
 */
#ifndef HUTCH_GRANTS_BASE_H
#define HUTCH_GRANTS_BASE_H

#include "grants/mounts.h"

/* What every sandbox on the host tree has: the programs and libraries of the machine, an /etc of its own,
 * proc, devices, and the writable places in memory. box->home must be set. */
bool base_add(struct box *box, struct held_sources *held, struct error *error);

#endif
