/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandbox's root file system: the box's list of mounts, executed in its order.
 */
#ifndef HUTCH_NS_ROOTFS_H
#define HUTCH_NS_ROOTFS_H

#include "ns/entering.h"

/* Builds the new root beside the old one. */
void rootfs_build(struct entering *entering);

/* Makes the new root read-only and the only one. From here on no path leads to the host. */
void rootfs_pivot(struct entering *entering);

#endif
