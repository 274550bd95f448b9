/* SPDX-License-Identifier: Apache-2.0
 *
 * Synthetic addresses. Each allowed name that the sandbox asks for gets one address in either family for the
 * whole run, and a flow to such an address is a flow to its name.
 */
#ifndef HUTCH_NAT_NAMES_H
#define HUTCH_NAT_NAMES_H

#include <netinet/in.h>
#include <stdbool.h>

enum { NAMES_MAX = 65536 };

struct names;

struct names *names_new(void);
void names_free(struct names *names);

/* The number of a name (lower case, no final dot), given on first use; -1 when all NAMES_MAX are in use. */
int names_number(struct names *names, const char *name);

/* The addresses of a number: 198.18.0.0/15 from 198.18.1.0 on (in the mapped form), fd68:7574:6368:1::/64. */
void names_address4(int number, struct in6_addr *address);
void names_address6(int number, struct in6_addr *address);

/* True when the address is in hutch's synthetic ranges (gateway and sandbox included). *name is then the name
 * that has this address, or NULL when none has. */
bool names_find(const struct names *names, const struct in6_addr *address, const char **name);

#endif
