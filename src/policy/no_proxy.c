/* SPDX-License-Identifier: Apache-2.0
 *
 * See no_proxy.h. An entry that is not understood covers nothing: the destination then goes through the
 * proxy, as a network with a proxy expects.
 */
#include "policy/no_proxy.h"

#include "lib/fd.h"
#include "policy/addresses.h"

#include <strings.h>

static const char separators[] = ", \t\r\n";

void no_proxy_split(const char *text, struct str_list *entries)
{
        while (*(text += strspn(text, separators))) {
                size_t length = strcspn(text, separators);
                str_list_take(entries, str_copy_n(text, length));
                text += length;
        }
}

/* Cuts off the port after the one colon of a name, or after a bracket. False when it differs from `port`, or
 * is not a port. */
static bool take_port(char *entry, uint16_t port)
{
        uint64_t number;
        char *colon = entry[0] == '[' ? strstr(entry, "]:") : strchr(entry, ':');
        if (!colon)
                return true;
        if (*colon == ']')
                colon++;
        else if (strchr(colon + 1, ':'))
                return true; /* an IPv6 address without brackets */
        *colon = 0;
        return str_read_number(colon + 1, UINT16_MAX, &number) && number == port;
}

/* "ADDRESS" or "ADDRESS/BITS". */
static bool covers_address(char *entry, const struct in6_addr *address)
{
        struct in6_addr network;
        uint64_t prefix = 128;
        char *slash = strchr(entry, '/');
        if (slash)
                *slash = 0;
        if (!address_parse(entry, &network))
                return false;
        unsigned offset = IN6_IS_ADDR_V4MAPPED(&network) ? 96 : 0;
        if (slash) {
                if (!str_read_number(slash + 1, 128 - offset, &prefix))
                        return false;
                prefix += offset;
        }
        /* Host bits are ignored, as in curl. */
        return address_in(address, &network, (unsigned)prefix);
}

static bool covers_name(const char *entry, const char *name)
{
        size_t whole = strlen(name), part = strlen(entry);
        return part > 0 && part <= whole && strcasecmp(name + whole - part, entry) == 0 &&
               (part == whole || name[whole - part - 1] == '.');
}

static bool covers(const char *text, const char *name, const struct in6_addr *address, uint16_t port)
{
        autofree char *copy = str_copy(text);
        char *entry = copy;
        if (!take_port(entry, port))
                return false;
        if (str_equal(entry, "*"))
                return true;
        size_t length = strlen(entry);
        if (entry[0] == '[' && length > 1 && entry[length - 1] == ']') {
                entry[length - 1] = 0;
                entry++;
        }
        if (!name)
                return covers_address(entry, address);
        if (str_starts(entry, "*."))
                entry++; /* some programs' spelling */
        if (entry[0] == '.')
                entry++;
        length = strlen(entry);
        if (length && entry[length - 1] == '.')
                entry[length - 1] = 0;
        return covers_name(entry, name);
}

bool no_proxy_covers(const struct str_list *entries, const char *name, const struct in6_addr *address,
                     uint16_t port)
{
        for (size_t i = 0; i < entries->count; i++)
                if (covers(entries->values[i], name, address, port))
                        return true;
        return false;
}
