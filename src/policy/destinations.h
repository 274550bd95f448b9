/* SPDX-License-Identifier: Apache-2.0
 *
 * Destinations: the words of --network-allow and --network-deny, parsed and matched. Grammar and meaning are
 * in hutch-mcp(1). Nothing here resolves a name or touches the network. hutch checks the user's rules with
 * it, hutch-nat judges flows with it.
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
        char *text;                     /* as the user wrote it, for messages */
        char name[NAME_MAX_LENGTH + 1]; /* lower case, no final dot, no leading "*." */
        struct in6_addr address;        /* an IPv4 address in its mapped form; host bits are zero */
        unsigned prefix;                /* of 128, so an IPv4 prefix plus 96 */
        struct port_range ports[2];     /* the default is two: 443 and 80 */
        size_t port_count;
        enum transport transport;
        bool any_transport; /* in --network-deny, without a port or transport */
        bool private_too;   /* /private: may lead to private addresses */
};

struct destinations {
        struct destination *items;
        size_t count;
};

/* What a destination without a port means: HTTPS and HTTP where it is permitted, everything where it is
 * denied. */
enum destination_use { DESTINATION_ALLOW, DESTINATION_DENY };

/* Adds every destination of a comma-separated list. False with a usage sentence that names the option and the
 * nearest valid spelling; what was added before stays for destinations_free(). */
bool destinations_add(struct destinations *list, enum destination_use use, const char *text,
                      struct error *error);
void destinations_free(struct destinations *list);

/* Whether `text` is a domain name as rules have them: lower case, no final dot, labels of letters, digits,
 * hyphens and underscores, the last one not a number. */
bool destination_is_name(const char *text);

/* Whether `name` always means the local machine (RFC 6761): the local resolver answers it, and it never
 * leaves the machine. */
bool destination_is_loopback(const char *name);

/* Whether `name` is a public suffix, below which unrelated owners have names: "com", "co.uk", "github.io". */
bool destination_is_public_suffix(const char *name);

#endif
