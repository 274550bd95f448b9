/* SPDX-License-Identifier: Apache-2.0
 *
 * DNS messages (RFC 1035, EDNS of RFC 6891): reading a question of the sandbox, writing the answer to it.
 * Every byte read is hostile. Pure functions on buffers: no descriptor, no allocation.
 */
#ifndef HUTCH_NAT_DNS_H
#define HUTCH_NAT_DNS_H

#include "policy/rules.h"

enum {
        DNS_MESSAGE_MAX = 65535,
        DNS_UDP_PLAIN = 512,  /* what a client without EDNS takes */
        DNS_UDP_MAX = 1232,   /* what is sent at most by UDP, whatever the client says */
        DNS_TTL = 60,         /* seconds, of synthetic answers */
};

enum dns_type { DNS_A = 1, DNS_PTR = 12, DNS_AAAA = 28, DNS_SVCB = 64, DNS_HTTPS = 65, DNS_ANY = 255 };
enum dns_code { DNS_OK = 0, DNS_FORMAT_ERROR = 1, DNS_SERVER_FAILURE = 2, DNS_NO_NAME = 3, DNS_NOT_IMPLEMENTED = 4, DNS_REFUSED = 5, DNS_BAD_VERSION = 16 };

struct dns_question {
        uint16_t id;
        uint16_t type, class_;
        char name[NAME_MAX_LENGTH + 1]; /* lower case, no final dot; "" is the root. Only if printable */
        bool printable;     /* every label is letters, digits, hyphens, underscores: else no rule can mean it */
        size_t question_end; /* offset behind the question: header and question are echoed as they came */
        bool recursion;     /* RD */
        bool edns;
        uint8_t edns_version;
        uint16_t payload; /* of UDP, that the client takes: at least DNS_UDP_PLAIN */
        enum dns_code problem; /* DNS_OK, or what to answer at once */
};

/* Reads one query. False: it cannot be answered (too short, a response): say nothing. */
bool dns_read_question(const uint8_t *message, size_t length, struct dns_question *question);

/* Writes an answer without records: code, and a SOA-less authority (negative answers are not to be cached:
 * the rules of another run may differ). Returns its length. `out` has room for DNS_UDP_PLAIN bytes or more. */
size_t dns_write_empty(const uint8_t *query, const struct dns_question *question, enum dns_code code, bool truncated,
                       uint8_t *out, size_t size);

/* Writes an answer with one address record: A with the last four bytes, or AAAA. */
size_t dns_write_address(const uint8_t *query, const struct dns_question *question, const struct in6_addr *address,
                         uint8_t *out, size_t size);

/* Checks an upstream's reply that is to be handed to the sandbox: well formed, the same question, and every
 * name that a client would go on to ask for (targets of CNAME, MX, SRV, NS, SVCB…) covered by the rules unless
 * it is the question's own. A and AAAA records in it (a client would use them directly) make it unusable, as
 * does anything malformed: then SERVFAIL is what to answer. */
bool dns_may_forward(const uint8_t *reply, size_t length, const struct dns_question *question,
                     const struct rules *rules);

#endif
