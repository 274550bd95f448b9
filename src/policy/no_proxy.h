/* SPDX-License-Identifier: Apache-2.0
 *
 * The entries of NO_PROXY, as curl documents them: which destinations are reached without the proxy.
 */
#ifndef HUTCH_POLICY_NO_PROXY_H
#define HUTCH_POLICY_NO_PROXY_H

#include "lib/str.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* Splits the variable's value, at commas and blanks, into entries. */
void no_proxy_split(const char *text, struct str_list *entries);

/* Whether an entry covers the destination: `name` (lower case, no final dot), or the literal `address` where
 * it is NULL. An entry is a name, which covers everything below it too, with or without a dot in front; an
 * address; a CIDR, which covers literal addresses only; any of these with a port; or `*`. Anything else
 * covers nothing. */
bool no_proxy_covers(const struct str_list *entries, const char *name, const struct in6_addr *address,
                     uint16_t port);

#endif
