/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the network of the box from the words of the network options.
 */
#ifndef HUTCH_RESOLVE_NETWORK_H
#define HUTCH_RESOLVE_NETWORK_H

#include "grants/resolver.h"

/* Fills box->network. False with a sentence; status 2 for words that are not a destination or port. */
bool network_make(const struct resolver *resolver);

#endif
