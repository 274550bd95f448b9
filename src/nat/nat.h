/* SPDX-License-Identifier: Apache-2.0
 *
 * hutch-nat: the state that its modules share.
 *
 * Theory of operation. hutch-nat connects a sandbox to the network without forwarding a packet. The child
 * that enters the sandbox makes a gateway namespace between the sandbox and the host (setup.c). In it every
 * address is local, so the kernel terminates every flow of the sandbox in a wildcard socket (listeners.c).
 * hutch-nat runs in the host's network namespace and receives these sockets (wire.h). It accepts a flow,
 * learns the destination that the sandbox meant from getsockname(), judges it, and opens an ordinary socket
 * to the real destination.
 *
 * Each module calls only modules above it in this list:
 *
 *     loop.c         descriptors, timers, memory that is freed at the end of a turn
 *     names.c        synthetic addresses: one for each name that the sandbox asks for
 *     host_routes.c  whether the host would route an address to itself
 *     target.c       judges a destination, as the sandbox addressed it and as it was resolved
 *     refusals.c     the refusals that hutch-filter may ask for
 *     report.c       messages to the supervisor: refusals, notes, records of the log
 *     resolve.c      looks names up: the hosts file, a cache, c-ares
 *     relay.c        moves the bytes of a connected flow
 *     proxy.c        asks the upstream proxy for a tunnel
 *     connect.c      opens a connection to a target: both families, RFC 8305
 *     flow.c         a TCP flow: judged, its first bytes inspected, connected, relayed
 *     udp.c          UDP flows
 *     dns_server.c   the sandbox's resolver
 *     publish.c      connections of the host to ports of the sandbox
 *     attempts.c     connection attempts to ports without a listener
 *     explain.c      answers hutch-filter
 *     main.c         reads the rules, receives the sockets, confines the process, runs the loop
 *
 * Only target.c decides. It judges a flow twice: the name or address that the sandbox used, and then each
 * real address that a name resolves to, because the owner of the name chooses that address.
 *
 * Every byte from the sandbox, from the network and from the proxy is hostile. The supervisor is trusted. One
 * thread runs one epoll loop; nothing else blocks, and after main.c has confined the process it can open no
 * file. When descriptors or memory run out, hutch-nat refuses the newest flow and continues.
 */
#ifndef HUTCH_NAT_NAT_H
#define HUTCH_NAT_NAT_H

#include "policy/rules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct names;

struct nat {
        struct rules rules;
        struct names *names;
        bool v6;          /* the sandbox has IPv6 */
        bool busy;        /* this turn of the loop has many events */
        size_t flows;     /* open flows, TCP and UDP */
        size_t flows_max; /* as many as there are descriptors for */
        long long now;    /* monotonic ms at the start of this turn */
        uint8_t *buffer;  /* NAT_BUFFER bytes; a module may use them until it returns to the loop */
};

enum { NAT_BUFFER = 1 << 20 };

extern struct nat nat; /* the only one */

/* Allocates what `nat` points to and sets the clock and flows_max, for a process that may have `descriptors`
 * descriptors open. False when memory is out. */
bool nat_start(size_t descriptors);

#endif
