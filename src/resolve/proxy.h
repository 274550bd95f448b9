/* SPDX-License-Identifier: Apache-2.0
 *
 * The upstream proxy of the caller, from HTTPS_PROXY and the like. Its password must never get into a
 * message, --dry-run or the sandbox.
 */
#ifndef HUTCH_RESOLVE_PROXY_H
#define HUTCH_RESOLVE_PROXY_H

#include "box/box.h"

/* Sets network->proxy, proxy_credentials and no_proxy from the caller's environment, where there is a proxy.
 * False with status 125 when the variable names a proxy that hutch cannot use: a direct connection could
 * violate the rules of the caller's network. */
bool proxy_take(struct network *network, struct error *error);

/* Overwrites the values of the proxy variables in this process's environment, which /proc shows. */
void proxy_forget(void);

#endif
