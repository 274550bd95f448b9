/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets up the network namespaces of the sandbox with rtnetlink, from inside them.
 */
#ifndef HUTCH_NAT_SETUP_H
#define HUTCH_NAT_SETUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the gateway listens on. */
struct gateway_plan {
        const uint16_t *tcp_ports; /* sorted, without duplicates */
        size_t tcp_count;          /* at most NETWORK_PORTS_MAX, unless every_port */
        bool every_port;           /* one transparent listener serves all TCP ports */
        const uint16_t *udp_ports;
        size_t udp_count;
        const uint16_t *host_ports; /* ports of the sandbox's 127.0.0.1 that hutch-nat serves */
        size_t host_port_count;
};

/* What failed: half a sentence for the user, and why. */
struct setup_failure {
        const char *what;
        uint16_t port; /* 0: no port is concerned */
        int error;     /* errno */
};

/* Sets *failure and returns false. `error` may be negative. */
static inline bool setup_fail(struct setup_failure *failure, const char *what, uint16_t port, int error)
{
        *failure = (struct setup_failure){.what = what, .port = port, .error = error < 0 ? -error : error};
        return false;
}

/* Brings `lo` up in the caller's network namespace, so that programs of the sandbox can reach each other on
 * 127.0.0.1 and ::1. Returns 0 or a negative errno. */
int setup_loopback(void);

/* Moves the caller into a gateway namespace, and from there into a new namespace for the sandbox, where it
 * stays; connects the two. Sends every socket that hutch-nat needs through `link` (wire.h). Needs every
 * capability in the user namespace. False, with *failure set, when a step fails. */
bool setup_gateway(const struct gateway_plan *plan, int link, struct setup_failure *failure);

#endif
