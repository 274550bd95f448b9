/* SPDX-License-Identifier: Apache-2.0
 *
 * See rules.h. Deny wins over allow, whatever the order. Nothing that a resolver or a peer says widens an
 * allow rule.
 */
#include "policy/rules.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "policy/addresses.h"

#include <stdlib.h>
#include <string.h>

static bool is_below(const char *name, const char *above)
{
        size_t length = strlen(name), of = strlen(above);
        return length > of + 1 && name[length - of - 1] == '.' && str_equal(name + length - of, above);
}

static bool matches_name(const struct destination *rule, const char *name)
{
        return (rule->kind == DESTINATION_NAME && str_equal(name, rule->name)) ||
               (rule->kind == DESTINATION_BELOW && is_below(name, rule->name)) ||
               (rule->kind == DESTINATION_PUBLIC && strchr(name, '.'));
}

static bool matches_port(const struct destination *rule, uint16_t port, enum transport transport)
{
        if (rule->transport != transport && !rule->any_transport)
                return false;
        for (size_t i = 0; i < rule->port_count; i++)
                if (port >= rule->ports[i].first && port <= rule->ports[i].last)
                        return true;
        return false;
}

static bool is_every_port(const struct destination *rule)
{
        return rule->any_transport && rule->ports[0].first == 1 && rule->ports[0].last == UINT16_MAX;
}

bool rules_cover_name(const struct rules *rules, const char *name)
{
        if (!destination_is_name(name) || destination_is_loopback(name))
                return false;
        for (size_t i = 0; i < rules->deny.count; i++)
                if (matches_name(&rules->deny.items[i], name) && is_every_port(&rules->deny.items[i]))
                        return false;
        for (size_t i = 0; i < rules->allow.count; i++)
                if (matches_name(&rules->allow.items[i], name))
                        return true;
        return false;
}

/* A flow that is judged: by its name, or by an address of that class where the name is NULL. */
struct flow {
        const char *name;
        const struct in6_addr *address;
        enum address_class class_;
        uint16_t port;
        enum transport transport;
};

static bool covers_address(const struct destination *rule, const struct in6_addr *address)
{
        return rule->kind == DESTINATION_ADDRESS && address_in(address, &rule->address, rule->prefix);
}

/* Whether a rule of --network-deny covers the flow: also the IPv4 address that a gateway would take out of an
 * IPv6 one. */
static bool forbids(const struct destination *rule, const struct flow *flow)
{
        struct in6_addr inner[ADDRESS_CARRIED_MAX];
        if (flow->name)
                return matches_name(rule, flow->name);
        if (rule->kind == DESTINATION_PUBLIC)
                return flow->class_ == ADDRESS_PUBLIC;
        if (covers_address(rule, flow->address))
                return true;
        size_t count = address_carried(flow->address, inner);
        for (size_t i = 0; i < count; i++)
                if (covers_address(rule, &inner[i]))
                        return true;
        return false;
}

/* Whether a rule of --network-allow covers the flow: of an address, a literal rule that permits its class. */
static bool permits(const struct destination *rule, const struct flow *flow)
{
        if (flow->name)
                return matches_name(rule, flow->name);
        if (rule->kind == DESTINATION_PUBLIC)
                return flow->class_ == ADDRESS_PUBLIC;
        return covers_address(rule, flow->address) &&
               (flow->class_ != ADDRESS_METADATA || rule->prefix == 128);
}

static bool is_denied(const struct rules *rules, const struct flow *flow)
{
        for (size_t i = 0; i < rules->deny.count; i++)
                if (matches_port(&rules->deny.items[i], flow->port, flow->transport) &&
                    forbids(&rules->deny.items[i], flow))
                        return true;
        return false;
}

/* The verdict of the allow rules: `otherwise` where none covers the flow on any port. */
static enum verdict judge_allowed(const struct rules *rules, const struct flow *flow, enum verdict otherwise)
{
        enum verdict verdict = otherwise;
        for (size_t i = 0; i < rules->allow.count; i++) {
                const struct destination *rule = &rules->allow.items[i];
                if (!permits(rule, flow))
                        continue;
                if (matches_port(rule, flow->port, flow->transport))
                        return VERDICT_ALLOWED;
                verdict = VERDICT_PORT;
        }
        return verdict;
}

enum verdict rules_judge_name(const struct rules *rules, const char *name, uint16_t port,
                              enum transport transport)
{
        const struct flow flow = {.name = name, .port = port, .transport = transport};
        return is_denied(rules, &flow) ? VERDICT_DENIED : judge_allowed(rules, &flow, VERDICT_NO_RULE);
}

/* Whether a rule for the name permits private addresses for it. */
static bool permits_private(const struct rules *rules, const char *name, uint16_t port,
                            enum transport transport)
{
        for (size_t i = 0; i < rules->allow.count; i++) {
                const struct destination *rule = &rules->allow.items[i];
                if (rule->private_too && matches_name(rule, name) && matches_port(rule, port, transport))
                        return true;
        }
        return false;
}

enum verdict rules_judge_address(const struct rules *rules, const char *name, const struct in6_addr *address,
                                 uint16_t port, enum transport transport)
{
        enum address_class class_ = address_classify(address);
        const struct flow flow = {.address = address, .class_ = class_, .port = port, .transport = transport};
        if (class_ == ADDRESS_RESERVED)
                return VERDICT_RESERVED;
        if (is_denied(rules, &flow))
                return VERDICT_DENIED;
        if (name && (class_ == ADDRESS_PUBLIC ||
                     (class_ == ADDRESS_PRIVATE && permits_private(rules, name, port, transport))))
                return VERDICT_ALLOWED;
        enum verdict verdict =
            judge_allowed(rules, &flow, class_ == ADDRESS_METADATA ? VERDICT_METADATA : VERDICT_NO_RULE);
        if (!name || verdict == VERDICT_ALLOWED || verdict == VERDICT_METADATA)
                return verdict;
        return VERDICT_SPECIAL;
}

bool rules_name_address(const struct rules *rules, const struct in6_addr *address, uint16_t port,
                        enum transport transport)
{
        for (size_t i = 0; i < rules->allow.count; i++)
                if (covers_address(&rules->allow.items[i], address) && rules->allow.items[i].prefix == 128 &&
                    matches_port(&rules->allow.items[i], port, transport))
                        return true;
        return false;
}

/* Half a sentence about a rule that almost covers the name, or NULL. */
static char *explain_miss(const struct rules *rules, const char *name)
{
        for (size_t i = 0; i < rules->allow.count; i++) {
                const struct destination *rule = &rules->allow.items[i];
                if (rule->kind == DESTINATION_BELOW && str_equal(rule->name, name))
                        return str_format("*.%s does not cover %s itself", name, name);
                if (rule->kind == DESTINATION_NAME && is_below(name, rule->name))
                        return str_format("%s covers that name alone; *.%s covers what is below it",
                                          rule->name, rule->name);
                if (rule->kind == DESTINATION_NAME && is_below(rule->name, name))
                        return str_format("%s covers that name alone, not %s", rule->name, name);
                if (rule->kind == DESTINATION_NAME && !str_equal(rule->name, name) &&
                    str_distance(rule->name, name) <= 2)
                        return str_format("%s is allowed: is one of them misspelled?", rule->name);
        }
        return NULL;
}

char *rules_suggest(const struct rules *rules, const char *name, const struct in6_addr *address,
                    uint16_t port, enum transport transport)
{
        char text[ADDRESS_TEXT] = "";
        bool usual = transport == TRANSPORT_TCP && (port == 443 || port == 80);
        bool six = !name && !IN6_IS_ADDR_V4MAPPED(address);
        autofree char *miss = name ? explain_miss(rules, name) : NULL;
        autofree char *ports = usual ? str_copy("") : str_format(":%u", port);
        return str_format("%s%s%s%s%s%s%s%s", six ? "[" : "", name ? name : address_format(address, text),
                          six ? "]" : "", ports, transport == TRANSPORT_UDP ? "/udp" : "", miss ? " (" : "",
                          miss ? miss : "", miss ? ")" : "");
}

size_t rules_ports(const struct rules *rules, enum transport transport, uint16_t *ports, size_t size)
{
        enum { PORTS = 65536 };
        autofree bool *wanted = str_or_die(calloc(PORTS, sizeof(*wanted)));
        for (size_t i = 0; i < rules->allow.count; i++) {
                const struct destination *rule = &rules->allow.items[i];
                if (rule->transport != transport || rule->kind == DESTINATION_LOCALHOST)
                        continue;
                for (size_t range = 0; range < rule->port_count; range++)
                        memset(wanted + rule->ports[range].first, true,
                               (size_t)(rule->ports[range].last - rule->ports[range].first) + 1);
        }
        size_t count = 0;
        for (size_t port = 1; port < PORTS; port++) {
                if (!wanted[port])
                        continue;
                if (count < size)
                        ports[count] = (uint16_t)port;
                count++;
        }
        return count;
}
