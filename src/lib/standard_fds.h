/* SPDX-License-Identifier: Apache-2.0
 *
 * The descriptors that a program of hutch starts with.
 */
#ifndef HUTCH_LIB_STANDARD_FDS_H
#define HUTCH_LIB_STANDARD_FDS_H

#include "lib/err.h"

/* Whatever the caller has open beside 0, 1 and 2 is closed, so that nothing of it can reach a sandbox; and 0,
 * 1 and 2 are open, so that no descriptor of hutch's lands there. */
bool standard_fds_settle(struct error *error);

#endif
