/* SPDX-License-Identifier: Apache-2.0
 *
 * Releases memory that a long-lived process no longer needs.
 */
#ifndef HUTCH_LIB_PAGES_H
#define HUTCH_LIB_PAGES_H

/* Unmaps the pages of the program and its libraries that were only read. This returns what only start-up
 * needed; the kernel maps a page again when it is touched. It changes nothing except the memory in use. */
void pages_forget_start(void);

#endif
