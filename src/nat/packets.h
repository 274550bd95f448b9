/* SPDX-License-Identifier: Apache-2.0
 *
 * Datagrams on a wildcard socket of the gateway: who sent one, which address it was sent to, and answering
 * from that address, because clients take no other's answer.
 */
#ifndef HUTCH_NAT_PACKETS_H
#define HUTCH_NAT_PACKETS_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Both ends of one exchange, as the sandbox sees it. */
struct packet_ends {
        struct sockaddr_storage client;
        socklen_t client_length;
        struct in6_addr asked; /* IPv4 mapped */
};

/* Receives one datagram. Its length, or negative when there is none now. */
ssize_t packet_receive(int descriptor, uint8_t *bytes, size_t size, struct packet_ends *ends);

/* Sends one back, from ends->asked to the client. A full queue drops it, as networks do. */
void packet_answer(int descriptor, const struct packet_ends *ends, const uint8_t *bytes, size_t length);

/* Receives one message of wire.h with at most one descriptor (SCM_RIGHTS), -1 without one. The message's
 * length, 0 at a hang-up. */
ssize_t packet_receive_descriptor(int from, void *head, size_t size, int *descriptor);

#endif
