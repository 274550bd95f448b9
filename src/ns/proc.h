/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandbox's /proc.
 */
#ifndef HUTCH_NS_PROC_H
#define HUTCH_NS_PROC_H

#include "ns/entering.h"

/* Mounts a proc of the sandbox's pid namespace at `destination` and masks parts of it. Keeps a
 * descriptor in entering->proc of one that shows every process. */
void proc_mount(struct entering *entering, const char *destination);

#endif
