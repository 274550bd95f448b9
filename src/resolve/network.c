/* SPDX-License-Identifier: Apache-2.0
 *
 * See network.h.
 */
#include "resolve/network.h"

#include "policy/network.h"
#include "resolve/proxy.h"

#include <stdlib.h>
#include <string.h>

enum { DNS_PORT = 53 };

static bool add_pair(struct port_pair **pairs, size_t *count, struct port_pair pair, const char *option,
                     struct error *error)
{
        for (size_t i = 0; i < *count; i++)
                if ((*pairs)[i].inside == pair.inside && (*pairs)[i].host != pair.host)
                        return error_set(error, EXIT_USAGE,
                                         "%s: port %u of the sandbox cannot lead to both %u and %u", option,
                                         pair.inside, (*pairs)[i].host, pair.host);
        for (size_t i = 0; i < *count; i++)
                if ((*pairs)[i].inside == pair.inside)
                        return true;
        if (*count == NETWORK_HOST_PORTS_MAX)
                return error_set(error, EXIT_USAGE, "%s: more than %d ports", option, NETWORK_HOST_PORTS_MAX);
        *array_add(*pairs, *count) = pair;
        return true;
}

/* Reads a port, up to the end or a colon. */
static bool read_port(const char **text, uint16_t *port)
{
        uint64_t value;
        size_t length = str_read_digits(*text, UINT16_MAX, &value);
        if (length == 0 || **text == '0' || value > UINT16_MAX)
                return false;
        *port = (uint16_t)value;
        *text += length;
        return true;
}

/* "FIRST:SECOND", or one port that is both. */
static bool read_pair(const char *text, uint16_t *first, uint16_t *second)
{
        if (!read_port(&text, first))
                return false;
        *second = *first;
        if (*text == ':') {
                text++;
                if (!read_port(&text, second))
                        return false;
        }
        return *text == 0;
}

static bool add_host_ports(struct network *network, const struct str_list *words, struct error *error)
{
        for (size_t i = 0; i < words->count; i++) {
                struct port_pair pair;
                if (!read_pair(words->values[i], &pair.inside, &pair.host))
                        return error_set(
                            error, EXIT_USAGE,
                            "--host-port %s: write HOSTPORT or PORT:HOSTPORT, as 5432 or 15432:5432",
                            words->values[i]);
                if (!add_pair(&network->host_ports, &network->host_port_count, pair, "--host-port", error))
                        return false;
        }
        /* localhost:PORT in --network-allow means the same. */
        const struct destinations *allow = &network->rules.allow;
        for (size_t i = 0; i < allow->count; i++) {
                const struct destination *rule = &allow->items[i];
                if (rule->kind != DESTINATION_LOCALHOST)
                        continue;
                for (unsigned port = rule->ports[0].first; port <= rule->ports[0].last; port++) {
                        struct port_pair pair = {.inside = (uint16_t)port, .host = (uint16_t)port};
                        if (!add_pair(&network->host_ports, &network->host_port_count, pair,
                                      "--network-allow localhost", error))
                                return false;
                }
        }
        return true;
}

static bool add_publish(struct network *network, const struct str_list *words, struct error *error)
{
        for (size_t i = 0; i < words->count; i++) {
                struct port_pair pair;
                if (!read_pair(words->values[i], &pair.host, &pair.inside))
                        return error_set(error, EXIT_USAGE,
                                         "--publish %s: write PORT or HOSTPORT:PORT, as 8080 or 18080:8080",
                                         words->values[i]);
                if (!add_pair(&network->publish, &network->publish_count, pair, "--publish", error))
                        return false;
        }
        return true;
}

/* Port 53 of every address is the sandbox's resolver, so a rule for this port alone has no effect. */
static bool leave_resolver(const struct destinations *allow, struct error *error)
{
        for (size_t i = 0; i < allow->count; i++) {
                const struct destination *rule = &allow->items[i];
                if (rule->kind != DESTINATION_LOCALHOST && rule->ports[0].first == DNS_PORT &&
                    rule->ports[0].last == DNS_PORT)
                        return error_set(error, EXIT_USAGE,
                                         "--network-allow %s: port 53 of every address is the sandbox's "
                                         "resolver, which answers for every allowed name; leave this out",
                                         rule->text);
        }
        return true;
}

static size_t without_resolver(uint16_t *ports, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (ports[i] == DNS_PORT) {
                        memmove(ports + i, ports + i + 1, (count - i - 1) * sizeof(*ports));
                        return count - 1;
                }
        return count;
}

/* The ports to listen on. More than NETWORK_PORTS_MAX TCP ports: all of them. */
static bool count_ports(struct network *network, struct error *error)
{
        uint16_t ports[NETWORK_PORTS_MAX];
        size_t count = rules_ports(&network->rules, TRANSPORT_TCP, ports, NETWORK_PORTS_MAX);
        network->every_port = count > NETWORK_PORTS_MAX;
        if (!network->every_port) {
                count = without_resolver(ports, count);
                network->tcp_ports = str_or_die(calloc(count + 1, sizeof(*ports)));
                memcpy(network->tcp_ports, ports, count * sizeof(*ports));
                network->tcp_count = count;
        }
        count = rules_ports(&network->rules, TRANSPORT_UDP, ports, NETWORK_PORTS_MAX);
        if (count > NETWORK_PORTS_MAX)
                return error_set(error, EXIT_USAGE, "--network-allow: more than %d ports of UDP; name fewer",
                                 NETWORK_PORTS_MAX);
        count = without_resolver(ports, count);
        network->udp_ports = str_or_die(calloc(count + 1, sizeof(*ports)));
        memcpy(network->udp_ports, ports, count * sizeof(*ports));
        network->udp_count = count;
        return true;
}

bool network_make(const struct resolver *resolver)
{
        struct box *box = resolver->box;
        const struct options *options = resolver->options;
        struct error *error = resolver->error;
        struct network *network = &box->network;
        for (size_t i = 0; i < options->network_allow.count; i++)
                if (!destinations_add(&network->rules.allow, DESTINATION_ALLOW,
                                      options->network_allow.values[i], error))
                        return false;
        for (size_t i = 0; i < options->network_deny.count; i++)
                if (!destinations_add(&network->rules.deny, DESTINATION_DENY, options->network_deny.values[i],
                                      error))
                        return false;
        if (!leave_resolver(&network->rules.allow, error) ||
            !add_host_ports(network, &options->host_ports, error) ||
            !add_publish(network, &options->publish, error) || !count_ports(network, error))
                return false;
        return (network->tcp_count == 0 && !network->every_port) || proxy_take(network, error);
}
