/* SPDX-License-Identifier: Apache-2.0
 *
 * See addresses.h. The table holds IANA's registries "IPv4 Special-Purpose Address Space" and "IPv6
 * Special-Purpose Address Space", as far as a sandbox must not reach them unasked, and the metadata services,
 * as each cloud documents its own.
 */
#include "policy/addresses.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

/* Addresses as constants: every flow is judged by these tables, so nothing is parsed from text at run time.
 */
#define V4(a, b, c, d)                                                                                       \
        {                                                                                                    \
                .s6_addr = { [10] = 0xff, [11] = 0xff, [12] = (a), [13] = (b), [14] = (c), [15] = (d) }      \
        }
#define GROUP(group) (uint8_t)((group) >> 8), (uint8_t)((group)&0xff)
/* The first three groups and the last two; those between are zero. */
#define V6(a, b, c, g, h)                                                                                    \
        {                                                                                                    \
                .s6_addr = { GROUP(a), GROUP(b), GROUP(c), [12] = GROUP(g), GROUP(h) }                       \
        }
#define BITS4(prefix) (96 + (prefix))

struct range {
        struct in6_addr network;
        unsigned prefix; /* of 128 */
};

/* The first that matches decides. */
static const struct {
        struct range range;
        enum address_class class_;
} special[] = {
    {{V4(169, 254, 169, 254), 128}, ADDRESS_METADATA}, /* AWS, Google, Azure, OpenStack and most others */
    {{V4(169, 254, 170, 2), 128}, ADDRESS_METADATA},   /* AWS: credentials of containers */
    {{V4(169, 254, 170, 23), 128}, ADDRESS_METADATA},  /* AWS: credentials of pods */
    {{V4(169, 254, 0, 23), 128}, ADDRESS_METADATA},    /* Tencent */
    {{V4(169, 254, 42, 42), 128}, ADDRESS_METADATA},   /* Scaleway */
    {{V4(168, 63, 129, 16), 128}, ADDRESS_METADATA},   /* Azure: the wire server */
    {{V4(100, 100, 100, 200), 128}, ADDRESS_METADATA}, /* Alibaba */
    {{V4(192, 0, 0, 192), 128}, ADDRESS_METADATA},     /* Oracle */
    {{V6(0xfd00, 0xec2, 0, 0, 0x254), 128}, ADDRESS_METADATA},   /* AWS */
    {{V6(0xfd00, 0xec2, 0, 0, 0x23), 128}, ADDRESS_METADATA},    /* AWS: credentials of pods */
    {{V6(0xfd20, 0xce, 0, 0, 0x254), 128}, ADDRESS_METADATA},    /* Google */
    {{V6(0xfd00, 0x42, 0, 0, 0x42), 128}, ADDRESS_METADATA},     /* Scaleway */
    {{V6(0xfe80, 0, 0, 0xa9fe, 0xa9fe), 128}, ADDRESS_METADATA}, /* OpenStack */

    {{V4(0, 0, 0, 0), BITS4(8)}, ADDRESS_RESERVED},      /* this network */
    {{V4(127, 0, 0, 0), BITS4(8)}, ADDRESS_RESERVED},    /* loopback */
    {{V4(192, 0, 0, 0), BITS4(24)}, ADDRESS_RESERVED},   /* protocol assignments */
    {{V4(192, 88, 99, 0), BITS4(24)}, ADDRESS_RESERVED}, /* 6to4 relays, deprecated */
    {{V4(198, 18, 0, 0), BITS4(15)}, ADDRESS_RESERVED},  /* benchmarks; hutch's synthetic addresses */
    {{V4(224, 0, 0, 0), BITS4(4)}, ADDRESS_RESERVED},    /* multicast */
    {{V4(240, 0, 0, 0), BITS4(4)}, ADDRESS_RESERVED},    /* future use, broadcast */
    {{V4(169, 254, 0, 0), BITS4(16)}, ADDRESS_LINK_LOCAL},
    {{V4(10, 0, 0, 0), BITS4(8)}, ADDRESS_PRIVATE}, /* RFC 1918 */
    {{V4(172, 16, 0, 0), BITS4(12)}, ADDRESS_PRIVATE},
    {{V4(192, 168, 0, 0), BITS4(16)}, ADDRESS_PRIVATE},
    {{V4(100, 64, 0, 0), BITS4(10)}, ADDRESS_PRIVATE}, /* carrier-grade NAT, RFC 6598 */
    {{V4(0, 0, 0, 0), BITS4(0)}, ADDRESS_PUBLIC},

    {{V6(0xfd68, 0x7574, 0x6368, 0, 0), 48}, ADDRESS_RESERVED}, /* hutch's own */
    {{V6(0xfe80, 0, 0, 0, 0), 10}, ADDRESS_LINK_LOCAL},
    {{V6(0xfec0, 0, 0, 0, 0), 10}, ADDRESS_PRIVATE},   /* site-local, deprecated */
    {{V6(0xfc00, 0, 0, 0, 0), 7}, ADDRESS_PRIVATE},    /* unique local */
    {{V6(0x5f00, 0, 0, 0, 0), 16}, ADDRESS_PRIVATE},   /* segment routing */
    {{V6(0x64, 0xff9b, 0, 0, 0), 96}, ADDRESS_PUBLIC}, /* NAT64: what it carries decides */
    {{V6(0x64, 0xff9b, 1, 0, 0), 48}, ADDRESS_PUBLIC}, /* NAT64 of the local network */
    {{V6(0x2001, 0, 0, 0, 0), 23}, ADDRESS_RESERVED},  /* protocol assignments: Teredo, benchmarks, ORCHID */
    {{V6(0x2000, 0, 0, 0, 0), 3}, ADDRESS_PUBLIC},     /* global unicast */
    {{V6(0, 0, 0, 0, 0), 0}, ADDRESS_RESERVED},        /* ::, ::1, IPv4-compatible, discard, multicast… */
};

static const struct range documentation[] = {
    {V4(192, 0, 2, 0), BITS4(24)},    {V4(198, 51, 100, 0), BITS4(24)}, {V4(203, 0, 113, 0), BITS4(24)},
    {V6(0x2001, 0xdb8, 0, 0, 0), 32}, {V6(0x3fff, 0, 0, 0, 0), 20},
};

/* Where an IPv6 address carries an IPv4 one: RFC 6052, 8215, 3056. */
static const struct {
        struct range range;
        size_t at; /* offset of the IPv4 address in bytes */
} carrying[] = {
    {{V6(0x64, 0xff9b, 0, 0, 0), 96}, 12},
    {{V6(0x64, 0xff9b, 1, 0, 0), 48}, 12},
    {{V6(0x2002, 0, 0, 0, 0), 16}, 2},
};

struct in6_addr address_mapped(const void *four)
{
        struct in6_addr address = V4(0, 0, 0, 0);
        memcpy(address.s6_addr + 12, four, 4);
        return address;
}

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

static bool lies_in(const struct in6_addr *address, const struct range *range)
{
        return address_in(address, &range->network, range->prefix);
}

static enum address_class classify_plain(const struct in6_addr *address)
{
        size_t row = 0;
        while (!lies_in(address, &special[row].range)) /* the last one holds every address */
                row++;
        return special[row].class_;
}

/* A local network may use shorter prefixes of 64:ff9b:1::/48. The IPv4 address then comes earlier, around the
 * eighth byte, and the bytes after it are ignored (RFC 6052, 2.2). */
static size_t read_shorter(const struct in6_addr *address, struct in6_addr *inner)
{
        static const struct range local = {V6(0x64, 0xff9b, 1, 0, 0), 48};
        static const uint8_t places[][4] = {{6, 7, 9, 10}, {7, 9, 10, 11}, {9, 10, 11, 12}};
        size_t count = 0;
        for (size_t i = 0; lies_in(address, &local) && i < sizeof(places) / sizeof(*places); i++) {
                const uint8_t *from = address->s6_addr, *at = places[i];
                if (from[at[0]] != 0) /* else a longer prefix's zeros */
                        inner[count++] =
                            address_mapped((uint8_t[]){from[at[0]], from[at[1]], from[at[2]], from[at[3]]});
        }
        return count;
}

/* ISATAP (RFC 5214): below any prefix, the interface identifier is 0000:5efe or 0200:5efe, then the IPv4
 * address. */
static bool is_isatap(const struct in6_addr *address)
{
        return (address->s6_addr[8] & 0xfd) == 0 && address->s6_addr[9] == 0 &&
               address->s6_addr[10] == 0x5e && address->s6_addr[11] == 0xfe;
}

size_t address_carried(const struct in6_addr *address, struct in6_addr inner[ADDRESS_CARRIED_MAX])
{
        size_t count = 0;
        /* None of the ranges overlaps another. */
        for (size_t i = 0; i < sizeof(carrying) / sizeof(*carrying); i++)
                if (lies_in(address, &carrying[i].range))
                        inner[count++] = address_mapped(address->s6_addr + carrying[i].at);
        count += read_shorter(address, inner + count);
        if (is_isatap(address))
                inner[count++] = address_mapped(address->s6_addr + 12);
        return count;
}

enum address_class address_classify(const struct in6_addr *address)
{
        struct in6_addr inner[ADDRESS_CARRIED_MAX];
        size_t count = address_carried(address, inner);
        enum address_class worst = classify_plain(address);
        for (size_t i = 0; i < count; i++) {
                enum address_class class_ = classify_plain(&inner[i]);
                if (class_ > worst)
                        worst = class_;
        }
        return worst;
}

bool address_is_documentation(const struct in6_addr *address)
{
        for (size_t i = 0; i < sizeof(documentation) / sizeof(*documentation); i++)
                if (lies_in(address, &documentation[i]))
                        return true;
        return false;
}
