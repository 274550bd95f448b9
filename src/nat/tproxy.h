/* SPDX-License-Identifier: Apache-2.0
 *
 * One listener for every port. When the rules name more ports than single listeners can serve, the kernel's
 * transparent proxying redirects every port to one listener, which sees the address and port that the sandbox
 * meant.
 */
#ifndef HUTCH_NAT_TPROXY_H
#define HUTCH_NAT_TPROXY_H

#include <stdint.h>

/* The port of that listener. The sandbox may connect to it directly as well: it is one of the ports. */
enum { TPROXY_PORT = 1 };

/* Adds the rule to the caller's network namespace through nfnetlink: each TCP connection that arrives, except
 * those to the resolver, goes to the transparent listener on `port`. Returns 0 or a negative errno;
 * -EOPNOTSUPP or -ENOENT when the kernel has no nf_tables or no nft_tproxy. */
int tproxy_redirect(uint16_t port);

#endif
