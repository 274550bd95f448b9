/* SPDX-License-Identifier: Apache-2.0
 *
 * The sockets in which the kernel ends the sandbox's flows. They are made inside the sandbox's namespaces and
 * handed to hutch-nat, which could not make them itself.
 */
#ifndef HUTCH_NAT_LISTENERS_H
#define HUTCH_NAT_LISTENERS_H

#include "nat/setup.h"

/* The gateway's: the resolver, a listener per port, the watch for attempts at other ports. The caller is in
 * the gateway's namespace. *v6 becomes false where the kernel has no IPv6. */
bool listeners_make(const struct gateway_plan *plan, int link, bool *v6, struct setup_failure *failure);

/* The sandbox's own loopback: plan->host_ports. The caller is in the sandbox's namespace. */
bool listeners_make_inner(const struct gateway_plan *plan, int link, bool v6, struct setup_failure *failure);

/* A port of the host's own 127.0.0.1 for one of the sandbox's; the caller is in the host's namespace. False
 * with errno. */
bool listeners_publish(int link, uint16_t host, uint16_t inside);

/* Tells hutch-nat that nothing follows. */
bool listeners_end(int link, bool v6, struct setup_failure *failure);

#endif
