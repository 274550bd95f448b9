/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandbox's user namespace: its one id and its budgets of kernel objects.
 */
#ifndef HUTCH_NS_USERNS_H
#define HUTCH_NS_USERNS_H

#include "ns/entering.h"

/* Maps the caller to BOX_ID. Afterwards the process is not dumpable. */
void userns_map_ids(const struct entering *entering);

/* Limits how many objects of the kernel this user namespace may hold. */
void userns_set_budgets(const struct entering *entering);

#endif
