/* SPDX-License-Identifier: Apache-2.0
 *
 * See names.h. Numbers are given in order and never twice, so an address that a program has kept cannot come
 * to mean another name.
 */
#include "nat/names.h"

#include "lib/str.h"
#include "policy/addresses.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* 198.18.0.0/15, and its first address for a name: those below are for the gateway and the sandbox. */
static const uint32_t range4 = 0xc6120000, mask4 = 0xfffe0000, first4 = 0xc6120100;
static const uint8_t prefix6[8] = {0xfd, 0x68, 0x75, 0x74, 0x63, 0x68, 0, 1};
/* fd68:7574:6368::/48: all of it is hutch's. */
enum { RANGE6_BYTES = 6 };

enum { SLOTS = 2 * NAMES_MAX }; /* of a hash table with open addressing that is never more than half full */

struct names {
        char *given[NAMES_MAX];
        int count;
        int slots[SLOTS]; /* a number plus one; 0: empty */
        uint64_t seed;    /* so that the sandbox, which chooses the names, cannot choose the collisions */
};

struct names *names_new(void)
{
        struct names *names = str_or_die(calloc(1, sizeof(*names)));
        /* The kernel provides 16 random bytes without a system call (getauxval(3)). */
        memcpy(&names->seed, (const void *)getauxval(AT_RANDOM), sizeof(names->seed));
        return names;
}

void names_free(struct names *names)
{
        for (int i = 0; i < names->count; i++)
                free(names->given[i]);
        free(names);
}

static size_t hash_name(const struct names *names, const char *name)
{
        uint64_t hash = names->seed;
        for (; *name; name++)
                hash = (hash ^ (uint8_t)*name) * 0x100000001b3;
        return (size_t)(hash ^ hash >> 32) % SLOTS;
}

int names_number(struct names *names, const char *name)
{
        size_t slot = hash_name(names, name);
        for (; names->slots[slot]; slot = (slot + 1) % SLOTS)
                if (str_equal(names->given[names->slots[slot] - 1], name))
                        return names->slots[slot] - 1;
        if (names->count == NAMES_MAX)
                return -1;
        names->given[names->count] = str_copy(name);
        names->slots[slot] = ++names->count;
        return names->count - 1;
}

void names_address4(int number, struct in6_addr *address)
{
        uint32_t value = htonl(first4 + (uint32_t)number);
        *address = address_mapped(&value);
}

void names_address6(int number, struct in6_addr *address)
{
        uint32_t value = htonl((uint32_t)number + 1);
        memset(address, 0, sizeof(*address));
        memcpy(address->s6_addr, prefix6, sizeof(prefix6));
        memcpy(address->s6_addr + 12, &value, sizeof(value));
}

bool names_find(const struct names *names, const struct in6_addr *address, const char **name)
{
        struct in6_addr expected;
        uint32_t value, number;
        memcpy(&value, address->s6_addr + 12, sizeof(value));
        value = ntohl(value);
        *name = NULL;
        if (IN6_IS_ADDR_V4MAPPED(address)) {
                if ((value & mask4) != range4)
                        return false;
                number = value - first4;
                names_address4((int)number, &expected);
        } else {
                if (memcmp(address->s6_addr, prefix6, RANGE6_BYTES) != 0)
                        return false;
                number = value - 1;
                names_address6((int)number, &expected);
        }
        if (number < (uint32_t)names->count && IN6_ARE_ADDR_EQUAL(address, &expected))
                *name = names->given[number];
        return true;
}
