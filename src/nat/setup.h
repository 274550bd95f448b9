/* SPDX-License-Identifier: Apache-2.0
 *
 * Setting up the sandbox's network namespace by rtnetlink, from inside it.
 */
#ifndef HUTCH_NAT_SETUP_H
#define HUTCH_NAT_SETUP_H

/* Brings `lo` up, so that programs of the sandbox can talk to each other on 127.0.0.1 and ::1. 0 or a
 * negative errno. */
int setup_loopback(void);

#endif
