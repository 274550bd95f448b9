/* SPDX-License-Identifier: Apache-2.0
 *
 * The upstream proxy of the user's environment: which flows go through it, and the tunnel (CONNECT, RFC 9110)
 * for each of them.
 */
#ifndef HUTCH_NAT_PROXY_H
#define HUTCH_NAT_PROXY_H

#include "nat/target.h"

/* Sets the proxy, "HOST PORT [BASE64]"; adds one entry of NO_PROXY. */
void proxy_configure(const char *text);
void proxy_except(const char *entry);

/* The proxy that a flow to the target goes through, as a target that no rule is asked about; NULL: the flow
 * goes directly. */
const struct target *proxy_for(const struct target *target);

/* The proxy as "HOST:PORT". */
const char *proxy_shown(void);

struct tunnel;

/* `result` is the socket, or a negative errno with half a sentence. */
typedef void proxy_done(void *context, int result, const char *why);

/* Asks the proxy at the other end of a connected socket for a tunnel to the target, and takes the socket
 * over. Calls `done` exactly once, and never before proxy_begin() returns. proxy_cancel() before `done` ends
 * it without a call. NULL when memory is out or the kernel refuses; the socket is then closed. */
struct tunnel *proxy_begin(int connected, const struct target *target, proxy_done *done, void *context);
void proxy_cancel(struct tunnel *tunnel);

#endif
