/* SPDX-License-Identifier: Apache-2.0
 *
 * Setting up the sandbox's network namespaces by rtnetlink, from inside them.
 */
#ifndef HUTCH_NAT_SETUP_H
#define HUTCH_NAT_SETUP_H

#include "policy/network.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the gateway listens for. */
struct gateway_plan {
        const uint16_t *tcp_ports; /* sorted, none twice */
        size_t tcp_count;          /* up to NETWORK_PORTS_MAX, unless every_port */
        bool every_port;           /* one transparent listener for all TCP ports */
        const uint16_t *udp_ports;
        size_t udp_count;
        const uint16_t *host_ports; /* ports of the sandbox's own 127.0.0.1 that the nat answers */
        size_t host_port_count;
};

/* What could not be made: half a sentence for the person, and why. */
struct setup_failure {
        const char *what;
        uint16_t port; /* 0: it is about no port */
        int error;     /* errno */
};

/* Brings `lo` up in the caller's network namespace, so that programs of the sandbox can talk to each other on
 * 127.0.0.1 and ::1. 0 or a negative errno. */
int setup_loopback(void);

/* Leaves the caller's network namespace for a gateway namespace and that for the sandbox's, which is the
 * caller's afterwards, and connects the two. Every socket that hutch-nat needs goes through `link` (wire.h).
 * Needs every capability in the user namespace. False with *failure set. */
bool setup_gateway(const struct gateway_plan *plan, int link, struct setup_failure *failure);

#endif
