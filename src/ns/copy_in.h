/* SPDX-License-Identifier: Apache-2.0
 *
 * --file: copies files of the host into the sandbox before the command starts.
 */
#ifndef HUTCH_NS_COPY_IN_H
#define HUTCH_NS_COPY_IN_H

#include "ns/entering.h"

/* Opens the sources. Call it while the host's root is still visible. */
void copy_in_open(struct entering *entering);

/* Writes the copies at their destinations and closes the sources. Call it when the sandbox has its own root
 * and no capability. */
void copy_in_write(struct entering *entering);

#endif
