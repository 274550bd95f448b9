/* SPDX-License-Identifier: Apache-2.0
 *
 * Attempts of the sandbox at ports without a listener. The kernel has refused them; this module reports them.
 */
#ifndef HUTCH_NAT_ATTEMPTS_H
#define HUTCH_NAT_ATTEMPTS_H

/* Watches a packet socket of the gateway (NAT_SOCKET_ATTEMPTS) and takes it over. */
void attempts_watch(int descriptor);

/* Reports the attempts that wait in the socket. */
void attempts_catch_up(void);

#endif
