/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that a long-lived process no longer needs.
 */
#ifndef HUTCH_LIB_PAGES_H
#define HUTCH_LIB_PAGES_H

/* Unmaps the pages of the program and its libraries that were only read: what start-up needed once is given
 * back, and what is still used is mapped again when it is touched. Changes nothing but the memory in use. */
void pages_forget_start(void);

#endif
