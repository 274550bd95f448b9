/* SPDX-License-Identifier: Apache-2.0
 *
 * The upstream proxy of the caller, from HTTPS_PROXY and its like. Its password must never get into a
 * sentence,
 * --dry-run or the sandbox.
 */
#ifndef HUTCH_RESOLVE_PROXY_H
#define HUTCH_RESOLVE_PROXY_H

#include "box/box.h"

/* Sets network->proxy, proxy_credentials and no_proxy from the caller's environment, where there is a proxy.
 * False with a sentence, 125, when the variable names a proxy that hutch cannot use: connecting directly
 * instead would go where the caller's network does not want connections to go. */
bool proxy_take(struct network *network, struct error *error);

/* Overwrites the values of the proxy variables in this process's environment, which /proc shows. */
void proxy_forget(void);

#endif
