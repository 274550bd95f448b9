/* SPDX-License-Identifier: Apache-2.0
 *
 * The descriptors that hutch's programs start with.
 */
#ifndef HUTCH_LIB_STANDARD_FDS_H
#define HUTCH_LIB_STANDARD_FDS_H

#include "lib/err.h"

/* Closes everything that the caller has open except 0, 1 and 2, and except `kept` (0: none), which
 * becomes close-on-exec, so that nothing can reach a sandbox. Opens those of 0, 1 and 2 that are closed, so
 * that no other descriptor gets their numbers. */
bool standard_fds_settle(int kept, struct error *error);

#endif
