/* SPDX-License-Identifier: Apache-2.0
 *
 * Datagrams on a wildcard socket of the gateway. A client accepts an answer only from the address that it
 * asked, so each datagram is received with that address, and answered from it. Also the messages of wire.h.
 */
#ifndef HUTCH_NAT_PACKETS_H
#define HUTCH_NAT_PACKETS_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Both ends of an exchange, as the sandbox sees them. */
struct packet_ends {
        struct sockaddr_storage client;
        socklen_t client_length;
        struct in6_addr asked; /* IPv4 mapped */
};

/* Receives one datagram. Returns its length, or a negative number when there is none now. */
ssize_t packet_receive(int descriptor, uint8_t *bytes, size_t size, struct packet_ends *ends);

/* Sends an answer from ends->asked to the client. A full queue drops it, as a network would. */
void packet_answer(int descriptor, const struct packet_ends *ends, const uint8_t *bytes, size_t length);

/* Receives one message of wire.h. *descriptor is the descriptor that came with it (SCM_RIGHTS), or -1.
 * Returns the length of the message, 0 after a hang-up. */
ssize_t packet_receive_descriptor(int from, void *head, size_t size, int *descriptor);

#endif
