/* SPDX-License-Identifier: Apache-2.0
 *
 * See addresses.h. The table is IANA's registries "IPv4 Special-Purpose Address Space" and "IPv6 Special-Purpose
 * Address Space", reduced to what nobody should reach unasked, and the clouds' metadata services, each as its
 * cloud documents it. Single-threaded.
 */
#include "policy/addresses.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The first that matches decides. */
static const struct {
        const char *address;
        unsigned prefix; /* of the address as written */
        enum address_class class_;
} special[] = {
    {"169.254.169.254", 32, ADDRESS_METADATA}, /* AWS, Google, Azure, OpenStack and most others */
    {"169.254.170.2", 32, ADDRESS_METADATA},   /* AWS: credentials of containers */
    {"169.254.170.23", 32, ADDRESS_METADATA},  /* AWS: credentials of pods */
    {"168.63.129.16", 32, ADDRESS_METADATA},   /* Azure: the wire server */
    {"100.100.100.200", 32, ADDRESS_METADATA}, /* Alibaba */
    {"192.0.0.192", 32, ADDRESS_METADATA},     /* Oracle */
    {"fd00:ec2::254", 128, ADDRESS_METADATA},  /* AWS */
    {"fd00:ec2::23", 128, ADDRESS_METADATA},   /* AWS: credentials of pods */
    {"fd20:ce::254", 128, ADDRESS_METADATA},   /* Google */
    {"0.0.0.0", 8, ADDRESS_RESERVED},          /* this network */
    {"127.0.0.0", 8, ADDRESS_RESERVED},        /* loopback */
    {"192.0.0.0", 24, ADDRESS_RESERVED},       /* protocol assignments */
    {"192.88.99.0", 24, ADDRESS_RESERVED},     /* 6to4 relays, deprecated */
    {"198.18.0.0", 15, ADDRESS_RESERVED},      /* benchmarks; hutch's synthetic addresses */
    {"224.0.0.0", 4, ADDRESS_RESERVED},        /* multicast */
    {"240.0.0.0", 4, ADDRESS_RESERVED},        /* future use, broadcast */
    {"169.254.0.0", 16, ADDRESS_LINK_LOCAL},
    {"10.0.0.0", 8, ADDRESS_PRIVATE}, /* RFC 1918 */
    {"172.16.0.0", 12, ADDRESS_PRIVATE},
    {"192.168.0.0", 16, ADDRESS_PRIVATE},
    {"100.64.0.0", 10, ADDRESS_PRIVATE},      /* carrier-grade NAT, RFC 6598 */
    {"::", 128, ADDRESS_RESERVED},            /* unspecified */
    {"::1", 128, ADDRESS_RESERVED},           /* loopback */
    {"100::", 64, ADDRESS_RESERVED},          /* discard only */
    {"fd68:7574:6368::", 48, ADDRESS_RESERVED}, /* hutch's own */
    {"ff00::", 8, ADDRESS_RESERVED},          /* multicast */
    {"fe80::", 10, ADDRESS_LINK_LOCAL},
    {"fec0::", 10, ADDRESS_PRIVATE}, /* site-local, deprecated */
    {"fc00::", 7, ADDRESS_PRIVATE},  /* unique local */
    {"5f00::", 16, ADDRESS_PRIVATE}, /* segment routing */
};

static const struct {
        const char *address;
        unsigned prefix;
} documentation[] = {
    {"192.0.2.0", 24}, {"198.51.100.0", 24}, {"203.0.113.0", 24}, {"2001:db8::", 32}, {"3fff::", 20},
};

/* Where an IPv6 address carries an IPv4 one: RFC 4291 2.5.5.1, 6052, 8215, 3056, 4380, 5214. */
static const struct {
        const char *address;
        unsigned prefix;
        unsigned at;    /* offset of the IPv4 address in bytes */
        bool inverted;  /* its bits are flipped (Teredo) */
} embedding[] = {
    {"::", 96, 12, false},          {"64:ff9b::", 96, 12, false}, {"64:ff9b:1::", 48, 12, false},
    {"2002::", 16, 2, false},       {"2001::", 32, 12, true},     {"2001::", 32, 4, false},
    {"::ffff:0:0:0", 96, 12, false}, /* IPv4-translated, RFC 2765 */
};

bool address_parse(const char *text, struct in6_addr *address)
{
        memset(address, 0, sizeof(*address));
        if (inet_pton(AF_INET, text, address->s6_addr + 12) != 1)
                return inet_pton(AF_INET6, text, address) == 1;
        memset(address->s6_addr + 10, 0xff, 2);
        return true;
}

char *address_format(const struct in6_addr *address, char text[ADDRESS_TEXT])
{
        if (IN6_IS_ADDR_V4MAPPED(address))
                inet_ntop(AF_INET, address->s6_addr + 12, text, ADDRESS_TEXT);
        else
                inet_ntop(AF_INET6, address, text, ADDRESS_TEXT);
        return text;
}

bool address_in(const struct in6_addr *address, const struct in6_addr *network, unsigned prefix)
{
        size_t bytes = prefix / 8;
        unsigned bits = prefix % 8;
        if (memcmp(address, network, bytes) != 0)
                return false;
        return bits == 0 || (address->s6_addr[bytes] ^ network->s6_addr[bytes]) >> (8 - bits) == 0;
}

/* The same with a network as a table has it. */
static bool lies_in(const struct in6_addr *address, const char *text, unsigned prefix)
{
        struct in6_addr network;
        (void)address_parse(text, &network);
        return address_in(address, &network, strchr(text, ':') ? prefix : prefix + 96);
}

static enum address_class classify_plain(const struct in6_addr *address)
{
        for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++)
                if (lies_in(address, special[i].address, special[i].prefix))
                        return special[i].class_;
        return ADDRESS_PUBLIC;
}

enum address_class address_classify(const struct in6_addr *address)
{
        enum address_class worst = classify_plain(address);
        for (size_t i = 0; i < sizeof(embedding) / sizeof(*embedding); i++) {
                struct in6_addr inner = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
                if (IN6_IS_ADDR_V4MAPPED(address) ||
                    !lies_in(address, embedding[i].address, embedding[i].prefix))
                        continue;
                for (size_t byte = 0; byte < 4; byte++)
                        inner.s6_addr[12 + byte] = (uint8_t)(address->s6_addr[embedding[i].at + byte] ^
                                                             (embedding[i].inverted ? 0xff : 0));
                enum address_class class_ = classify_plain(&inner);
                if (class_ > worst)
                        worst = class_;
        }
        /* ISATAP: the interface identifier is 0000:5efe or 0200:5efe, then the IPv4 address. */
        if (!IN6_IS_ADDR_V4MAPPED(address) && (address->s6_addr[8] & 0xfd) == 0 && address->s6_addr[9] == 0 &&
            address->s6_addr[10] == 0x5e && address->s6_addr[11] == 0xfe) {
                struct in6_addr inner = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
                memcpy(inner.s6_addr + 12, address->s6_addr + 12, 4);
                enum address_class class_ = classify_plain(&inner);
                if (class_ > worst)
                        worst = class_;
        }
        return worst;
}

bool address_is_documentation(const struct in6_addr *address)
{
        for (size_t i = 0; i < sizeof(documentation) / sizeof(*documentation); i++)
                if (lies_in(address, documentation[i].address, documentation[i].prefix))
                        return true;
        return false;
}
