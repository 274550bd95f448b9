/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandbox's resolver.
 */
#ifndef HUTCH_NAT_DNS_SERVER_H
#define HUTCH_NAT_DNS_SERVER_H

/* Answers the questions that arrive on a gateway socket (NAT_SOCKET_DNS_UDP, NAT_SOCKET_DNS_TCP) and takes it
 * over. */
void dns_server_add_udp(int descriptor);
void dns_server_add_tcp(int descriptor);

#endif
