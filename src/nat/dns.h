/* SPDX-License-Identifier: Apache-2.0
 *
 * DNS messages (RFC 1035, EDNS of RFC 6891): reads the questions of the sandbox and writes the answers. Every
 * byte read is hostile. Pure functions on buffers: no descriptor, no allocation.
 */
#ifndef HUTCH_NAT_DNS_H
#define HUTCH_NAT_DNS_H

#include "policy/rules.h"

enum {
        DNS_MESSAGE_MAX = 65535,
        DNS_UDP_PLAIN = 512, /* what a client without EDNS accepts */
        DNS_UDP_MAX = 1232,  /* the most that is sent by UDP, whatever the client accepts */
        DNS_TTL = 60,        /* seconds, of synthetic answers */
};

enum dns_type { DNS_A = 1, DNS_PTR = 12, DNS_AAAA = 28, DNS_SVCB = 64, DNS_HTTPS = 65, DNS_ANY = 255 };
enum dns_code {
        DNS_OK = 0,
        DNS_FORMAT_ERROR = 1,
        DNS_SERVER_FAILURE = 2,
        DNS_NO_NAME = 3,
        DNS_NOT_IMPLEMENTED = 4,
        DNS_REFUSED = 5,
        DNS_BAD_VERSION = 16
};

struct dns_question {
        uint16_t id;
        uint16_t type, class_;
        char name[NAME_MAX_LENGTH + 1]; /* lower case, no final dot; "" is the root. Valid if printable */
        bool printable; /* all labels are letters, digits, hyphens, underscores: else no rule can mean it */
        size_t question_end; /* offset after the question: answers repeat everything before it */
        bool recursion;      /* RD */
        bool edns;
        uint8_t edns_version;
        uint16_t payload;      /* bytes that the client accepts by UDP, at least DNS_UDP_PLAIN */
        enum dns_code problem; /* DNS_OK, or the code to answer with */
};

/* Reads one query. False when it gets no answer at all (too short, or a response). */
bool dns_read_question(const uint8_t *message, size_t length, struct dns_question *question);

/* Each of these functions writes an answer and returns its length. `query` is the message that `question` was
 * read from. `out` has room for DNS_UDP_PLAIN bytes or more, which is enough for every answer but a forwarded
 * one. */

/* An answer without records. It has no SOA record, which would let clients cache it: the rules of another run
 * may differ. */
size_t dns_write_empty(const uint8_t *query, const struct dns_question *question, enum dns_code code,
                       bool truncated, uint8_t *out, size_t size);

/* An answer with one address record: A with the last four bytes of the address, or AAAA. */
size_t dns_write_address(const uint8_t *query, const struct dns_question *question,
                         const struct in6_addr *address, uint8_t *out, size_t size);

/* An answer with the answer section of a name server's reply and nothing else of it. The other sections may
 * hold addresses that the sandbox could not use, and the EDNS record must answer the client's own.
 *
 * The answer is SERVFAIL when the reply is malformed or truncated, when it does not repeat the question, when
 * it holds an address or a service binding (which a client would use directly), or when an MX, SRV or NS
 * record names a target that no rule covers and that is not the question's own name. It is empty and marked
 * as truncated when it does not fit. */
size_t dns_write_forwarded(const uint8_t *query, const struct dns_question *question, const uint8_t *reply,
                           size_t length, const struct rules *rules, uint8_t *out, size_t size);

#endif
