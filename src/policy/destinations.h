/* SPDX-License-Identifier: Apache-2.0
 *
 * Destinations: the words of --network-allow and --network-deny, parsed and matched. Grammar and meaning are in
 * hutch-mcp(1). Nothing here resolves a name or touches the network; hutch checks the person's rules with it,
 * hutch-nat judges flows with it.
 */
#ifndef HUTCH_POLICY_DESTINATIONS_H
#define HUTCH_POLICY_DESTINATIONS_H

#include "lib/err.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NAME_MAX_LENGTH = 253 }; /* of a domain name in text, without its final dot (RFC 1035) */

enum destination_kind {
        DESTINATION_NAME,      /* exactly this name */
        DESTINATION_BELOW,     /* *.NAME: any depth below it, never the name itself */
        DESTINATION_ADDRESS,   /* a literal address or CIDR */
        DESTINATION_PUBLIC,    /* any name and any address that is not special */
        DESTINATION_LOCALHOST, /* localhost:PORT: the host's own loopback, the same as --host-port PORT */
};

enum transport { TRANSPORT_TCP, TRANSPORT_UDP };

struct port_range {
        uint16_t first, last; /* 1 to 65535 */
};

struct destination {
        enum destination_kind kind;
        char *text;                     /* as the person wrote it, for messages */
        char name[NAME_MAX_LENGTH + 1]; /* lower case, no final dot, no leading "*." */
        struct in6_addr address;        /* an IPv4 address in its mapped form; host bits are zero */
        unsigned prefix;                /* of 128, so an IPv4 prefix plus 96 */
        struct port_range ports[2];     /* the default is two: 443 and 80 */
        size_t port_count;
        enum transport transport;
        bool private_too; /* /private: may lead to private addresses */
};

struct destinations {
        struct destination *items;
        size_t count;
};

/* Adds every destination of a comma-separated list. False with a usage sentence that names `option` and the
 * nearest valid spelling; what was added before stays for destinations_free(). */
bool destinations_add(struct destinations *list, const char *text, const char *option, struct error *error);
void destinations_free(struct destinations *list);

/* What the person wrote in both options. */
struct rules {
        struct destinations allow, deny;
};

enum verdict {
        VERDICT_ALLOWED,
        VERDICT_NO_RULE,  /* nothing allows it */
        VERDICT_DENIED,   /* --network-deny names it */
        VERDICT_PORT,     /* the name or address is allowed, on other ports or by the other transport only */
        VERDICT_SPECIAL,  /* it leads to a loopback, private, link-local, metadata or otherwise special address */
        VERDICT_RESERVED, /* such an address that no rule can allow for a name: metadata, multicast, loopback… */
};

/* Whether some allowed flow to `name` exists, so that the resolver answers it. `name` is lower case, without a
 * final dot; anything that is no domain name (an underscore label is one) is false. */
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

/* The value of --network-allow that would permit the flow, and, when a rule almost does, half a sentence about
 * it; for messages: "HOST:PORT" or "HOST:PORT; `*.allowed.test` does not cover allowed.test itself". The
 * caller frees it. `name` may be NULL for a literal address. */
char *rules_suggest(const struct rules *rules, const char *name, const struct in6_addr *address, uint16_t port,
                    enum transport transport);

/* Every port that a rule of `transport` mentions, sorted, none twice, written to `ports` (room for `size`).
 * Returns how many there are, which may be more than `size`: then the gateway takes every port. localhost
 * rules do not count. */
size_t rules_ports(const struct rules *rules, enum transport transport, uint16_t *ports, size_t size);

#endif
