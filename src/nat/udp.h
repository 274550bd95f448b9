/* SPDX-License-Identifier: Apache-2.0
 *
 * UDP flows, from the first datagram to their end by silence.
 */
#ifndef HUTCH_NAT_UDP_H
#define HUTCH_NAT_UDP_H

#include <stdint.h>

/* Serves the datagrams of a gateway socket (NAT_SOCKET_UDP) and takes it over. */
void udp_serve(int descriptor, uint16_t port);

/* Ends every flow, so that each is reported. */
void udp_end_all(const char *why);

#endif
