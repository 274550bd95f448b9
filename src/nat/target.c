/* SPDX-License-Identifier: Apache-2.0
 *
 * See target.h. This module judges by the rules alone, and again by the real address once that is known,
 * because the owner of a name decides what it resolves to.
 */
#include "nat/target.h"

#include "nat/host_routes.h"
#include "nat/names.h"
#include "nat/nat.h"
#include "policy/addresses.h"

#include <string.h>

enum verdict target_judge(struct target *target)
{
        if (!names_find(nat.names, &target->address, &target->name))
                return rules_judge_address(&nat.rules, NULL, &target->address, target->port,
                                           target->transport);
        if (!target->name)
                return VERDICT_NO_RULE; /* no name has this address */
        return rules_judge_name(&nat.rules, target->name, target->port, target->transport);
}

socklen_t target_store(const struct in6_addr *address, uint16_t port, struct sockaddr_storage *out)
{
        memset(out, 0, sizeof(*out));
        if (IN6_IS_ADDR_V4MAPPED(address)) {
                struct sockaddr_in *four = (struct sockaddr_in *)out;
                four->sin_family = AF_INET;
                four->sin_port = htons(port);
                memcpy(&four->sin_addr, address->s6_addr + 12, 4);
                return sizeof(*four);
        }
        struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(port);
        six->sin6_addr = *address;
        return sizeof(*six);
}

void target_load(const struct sockaddr_storage *stored, struct in6_addr *address, uint16_t *port)
{
        if (stored->ss_family == AF_INET) {
                const struct sockaddr_in *four = (const struct sockaddr_in *)stored;
                *address = address_mapped(&four->sin_addr);
                *port = ntohs(four->sin_port);
                return;
        }
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)stored;
        *address = six->sin6_addr;
        *port = ntohs(six->sin6_port);
}

enum verdict target_judge_address(const struct target *target, const struct in6_addr *address)
{
        enum verdict verdict =
            rules_judge_address(&nat.rules, target->name, address, target->port, target->transport);
        if (verdict != VERDICT_ALLOWED)
                return verdict;
        /* Nobody owns a documentation address: a host that has one simulates the internet. */
        if (address_is_documentation(address) || host_routes_leave(address) ||
            rules_name_address(&nat.rules, address, target->port, target->transport))
                return VERDICT_ALLOWED;
        return VERDICT_SPECIAL;
}
