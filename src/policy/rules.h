/* SPDX-License-Identifier: Apache-2.0
 *
 * Judges flows by --network-allow and --network-deny. Pure functions.
 */
#ifndef HUTCH_POLICY_RULES_H
#define HUTCH_POLICY_RULES_H

#include "policy/destinations.h"

/* The destinations of both options. */
struct rules {
        struct destinations allow, deny;
};

enum verdict {
        VERDICT_ALLOWED,
        VERDICT_NO_RULE, /* nothing allows it */
        VERDICT_DENIED,  /* --network-deny names it */
        VERDICT_PORT,    /* the name or address is allowed, on other ports or by the other transport only */
        VERDICT_SPECIAL, /* it leads to a loopback, private, link-local, metadata or otherwise special address
                          */
        VERDICT_METADATA, /* it leads to a cloud's metadata service, which only its own address as a rule
                             permits */
        VERDICT_RESERVED, /* it leads to an address that no rule permits: loopback, multicast… */
};

/* Whether some allowed flow to `name` exists, so that the resolver answers it. `name` is lower case, without
 * a final dot; false for anything that is not a domain name (an underscore label is permitted). */
bool rules_cover_name(const struct rules *rules, const char *name);

/* A flow to a name, before it is resolved. */
enum verdict rules_judge_name(const struct rules *rules, const char *name, uint16_t port,
                              enum transport transport);

/* The address that an allowed name was resolved to (name != NULL), or that the sandbox used literally (NULL).
 * IPv4 in its mapped form; addresses that embed IPv4 ones (NAT64, 6to4, …) are judged by both. */
enum verdict rules_judge_address(const struct rules *rules, const char *name, const struct in6_addr *address,
                                 uint16_t port, enum transport transport);

/* Whether a rule of this port and transport names exactly this one address: what a flow to an address of the
 * host itself needs. */
bool rules_name_address(const struct rules *rules, const struct in6_addr *address, uint16_t port,
                        enum transport transport);

/* The value of --network-allow that would permit the flow, and, when a rule almost does, half a sentence
 * about it; for messages: "HOST:PORT" or "HOST:PORT (*.allowed.test does not cover allowed.test itself)". The
 * caller frees it. `name` may be NULL for a literal address. */
char *rules_suggest(const struct rules *rules, const char *name, const struct in6_addr *address,
                    uint16_t port, enum transport transport);

/* Every port that a rule of `transport` mentions, sorted, none twice, written to `ports` (room for `size`).
 * Returns how many there are, which may be more than `size`: then the gateway takes every port. localhost
 * rules do not count. */
size_t rules_ports(const struct rules *rules, enum transport transport, uint16_t *ports, size_t size);

#endif
