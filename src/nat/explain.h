/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers hutch-filter, which tells the model what was refused (--explain).
 */
#ifndef HUTCH_NAT_EXPLAIN_H
#define HUTCH_NAT_EXPLAIN_H

#include <stdbool.h>

/* Keeps refusals and answers questions on NAT_FILTER from now on. False, with errno, when the kernel refuses.
 */
bool explain_serve(void);

#endif
