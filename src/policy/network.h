/* SPDX-License-Identifier: Apache-2.0
 *
 * Constants of the sandbox's network that more than one part has to agree on.
 */
#ifndef HUTCH_POLICY_NETWORK_H
#define HUTCH_POLICY_NETWORK_H

/* Addresses of the sandbox's network. Names get theirs from the rest of 198.18.0.0/15 (set aside for
 * benchmarks by RFC 2544, so that no host is shadowed) and from a unique local prefix. */
#define NETWORK_GATEWAY4 "198.18.0.1" /* what the resolv.conf inside names */
#define NETWORK_SANDBOX4 "198.18.0.2"
#define NETWORK_GATEWAY6 "fd68:7574:6368::1"
#define NETWORK_SANDBOX6 "fd68:7574:6368::2"

enum {
        NETWORK_PORTS_MAX = 64,      /* listeners of single ports; more ports take one transparent listener */
        NETWORK_HOST_PORTS_MAX = 64, /* of --host-port */
};

#endif
