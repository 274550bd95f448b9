/* SPDX-License-Identifier: Apache-2.0
 *
 * Classifies addresses by IANA's special-purpose registries (RFC 6890 and its successors).
 */
#ifndef HUTCH_POLICY_ADDRESSES_H
#define HUTCH_POLICY_ADDRESSES_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

/* From harmless to forbidden. */
enum address_class {
        ADDRESS_PUBLIC,     /* documentation ranges count as public */
        ADDRESS_PRIVATE,    /* RFC 1918, unique local, CGNAT: a literal rule or /private permits them */
        ADDRESS_LINK_LOCAL, /* only a literal rule permits them */
        ADDRESS_METADATA,   /* a cloud's metadata service: only a rule with exactly this address permits it */
        ADDRESS_RESERVED,   /* loopback, multicast, "this network", hutch's own…: nothing permits them */
};

/* IPv4 in its mapped form. An address that carries others (address_carried) has the worst class of all of
 * them. */
enum address_class address_classify(const struct in6_addr *address);

enum { ADDRESS_CARRIED_MAX = 5 };
/* The IPv4 addresses, in their mapped form, that a gateway might read out of an IPv6 one: NAT64 of
 * 64:ff9b::/96 and (at every place of RFC 6052) 64:ff9b:1::/48, 6to4, ISATAP. A mapped address carries none.
 * Returns how many.
 */
size_t address_carried(const struct in6_addr *address, struct in6_addr inner[ADDRESS_CARRIED_MAX]);

/* Whether the first `prefix` bits (of 128) are those of `network`. */
bool address_in(const struct in6_addr *address, const struct in6_addr *network, unsigned prefix);

/* Whether it is in a documentation range (RFC 5737, RFC 3849, RFC 9637). */
bool address_is_documentation(const struct in6_addr *address);

/* Reads an address of either family into the mapped form. False when it is not an address. Accepts exactly
 * what inet_pton() does: no octal, no short forms, no zone. */
bool address_parse(const char *text, struct in6_addr *address);

/* The mapped form of the four bytes of an IPv4 address. */
struct in6_addr address_mapped(const void *four);

enum { ADDRESS_TEXT = 46 };
/* The usual text; a mapped address as IPv4. Returns `text`. */
char *address_format(const struct in6_addr *address, char text[ADDRESS_TEXT]);

#endif
