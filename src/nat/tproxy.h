/* SPDX-License-Identifier: Apache-2.0
 *
 * One listener for every port: more ports than single listeners are worth are redirected to one by the
 * kernel's transparent proxying, with the address and port that the sandbox meant kept as they are.
 */
#ifndef HUTCH_NAT_TPROXY_H
#define HUTCH_NAT_TPROXY_H

#include <stdint.h>

/* Where the one listener is. The sandbox may as well connect to this port itself: it is one of them. */
enum { TPROXY_PORT = 1 };

/* Adds the rule to the caller's network namespace, by nfnetlink alone: every TCP connection that comes in,
 * but for those to the resolver, goes to the transparent listener on `port`. 0 or a negative errno:
 * -EOPNOTSUPP or -ENOENT where the kernel lacks nf_tables or nft_tproxy. */
int tproxy_redirect(uint16_t port);

#endif
