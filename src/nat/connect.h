/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening a TCP connection to a target, directly or through the upstream proxy.
 */
#ifndef HUTCH_NAT_CONNECT_H
#define HUTCH_NAT_CONNECT_H

#include "nat/target.h"

struct connecting;

/* `result` is a connected socket that the callee owns and that is not in the loop, with the address it is
 * connected to; or a negative errno, with half a sentence that lives until the callback returns. */
typedef void connect_done(void *context, int result, const struct in6_addr *address, const char *why);

/* Resolves the target and tries both families in turn. Calls `done` exactly once. When that happens before
 * connect_begin() returns, it returns NULL. connect_cancel() before `done` ends it without a call. */
struct connecting *connect_begin(const struct target *target, connect_done *done, void *context);
void connect_cancel(struct connecting *connecting);

/* Makes a connection send its bytes at once: the sender has already waited for more. */
void connect_set_nodelay(int descriptor);

#endif
