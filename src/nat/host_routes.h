/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the host would route an address to itself. The kernel is asked each time, because addresses come
 * and go.
 */
#ifndef HUTCH_NAT_HOST_ROUTES_H
#define HUTCH_NAT_HOST_ROUTES_H

#include <netinet/in.h>
#include <stdbool.h>

/* Opens the socket that the kernel is asked with. False, with errno, when the kernel refuses. */
bool host_routes_open(void);

/* True when a packet to the address would leave this machine, or has no route. False for every address of the
 * host itself, and when the kernel gives no usable answer. */
bool host_routes_leave(const struct in6_addr *address);

#endif
