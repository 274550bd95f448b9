/* SPDX-License-Identifier: Apache-2.0
 *
 * The sockets in which the kernel terminates the flows of the sandbox. They are made inside the sandbox's
 * namespaces and sent to hutch-nat, which cannot make them itself.
 */
#ifndef HUTCH_NAT_LISTENERS_H
#define HUTCH_NAT_LISTENERS_H

#include "nat/setup.h"

/* Makes the sockets of the gateway: the resolver's, a listener for each port, the packet socket for attempts
 * at other ports. The caller is in the gateway's namespace. Sets *v6 to whether the kernel has
 * IPv6. */
bool listeners_make(const struct gateway_plan *plan, int link, bool *v6, struct setup_failure *failure);

/* Makes the listeners of the sandbox's loopback, plan->host_ports. The caller is in that namespace. */
bool listeners_make_inner(const struct gateway_plan *plan, int link, bool v6, struct setup_failure *failure);

/* Makes the listener on `host` of the host's 127.0.0.1 for the port `inside` of the sandbox. The caller is in
 * the host's namespace. False, with errno, when that fails. */
bool listeners_publish(int link, uint16_t host, uint16_t inside);

/* Tells hutch-nat that no socket follows. */
bool listeners_end(int link, bool v6, struct setup_failure *failure);

#endif
