/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandbox's /proc.
 */
#ifndef HUTCH_NS_PROC_H
#define HUTCH_NS_PROC_H

#include "ns/entering.h"

/* Mounts a proc of the sandbox's pid namespace at `destination` and masks parts of it. Under a watchdog it
 * keeps a descriptor of it in entering->proc. */
void proc_mount(struct entering *entering, const char *destination);

#endif
