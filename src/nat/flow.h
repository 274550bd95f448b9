/* SPDX-License-Identifier: Apache-2.0
 *
 * TCP flows, from accept() to their end.
 */
#ifndef HUTCH_NAT_FLOW_H
#define HUTCH_NAT_FLOW_H

#include "nat/target.h"

/* Accepts the flows of a listener, and takes it over: one of the gateway (`host_port` 0), or one of the
 * sandbox's loopback for this port of the host's loopback. */
void flow_serve(int descriptor, uint16_t host_port);

/* Relays between two connected sockets and takes them over: for --publish, where the host connects first. */
void flow_join(int sandbox, int host, const struct target *target);

/* Ends every flow, so that each is reported. */
void flow_end_all(const char *why);

#endif
