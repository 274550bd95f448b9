/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandbox's /dev.
 */
#ifndef HUTCH_NS_DEV_H
#define HUTCH_NS_DEV_H

#include "ns/entering.h"

/* Makes the directory `destination` in the root's tmpfs and fills it. */
void dev_mount(const struct entering *entering, const char *destination);

#endif
