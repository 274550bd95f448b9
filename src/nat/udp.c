/* SPDX-License-Identifier: Apache-2.0
 *
 * See udp.h. A flow is a pair of a client socket in the sandbox and a destination. It has a connected socket
 * on the host, and silence ends it. Only UDP flows may use TIMER_IDLE, whose queue is their order by age.
 * While the destination is looked up, the first datagram is kept and others are dropped, as a network might.
 */
#include "nat/udp.h"

#include "lib/str.h"
#include "nat/loop.h"
#include "nat/nat.h"
#include "nat/packets.h"
#include "nat/report.h"
#include "nat/resolve.h"
#include "nat/target.h"
#include "policy/addresses.h"
#include "policy/network.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
        SLOTS = 1024,
        PER_TURN = 64,
        FIRST_MAX = 2048, /* bytes of a datagram that is kept during the lookup */
        FLOWS_MAX = 1024,
};

struct gateway_socket {
        struct source source;
        struct gateway_socket *next;
        uint16_t port;
};

static struct gateway_socket *gateways;

struct udp_flow {
        struct source source;  /* the connected socket on the host */
        struct udp_flow *next; /* in the same slot */
        struct packet_ends ends;
        int gateway; /* the socket of the gateway */
        struct flow_report report;
        struct resolving *resolving;
        int family; /* that is looked up: first IPv4, then IPv6 */
        struct timer idle;
        bool ended;
        uint8_t *first;
        size_t first_length;
};

static struct udp_flow *slots[SLOTS];
static size_t flow_count;

static size_t slot_of(const struct packet_ends *ends, uint16_t port)
{
        struct in6_addr client;
        uint16_t client_port;
        target_load(&ends->client, &client, &client_port);
        uint32_t hash = client_port * 31u + port;
        for (size_t i = 12; i < 16; i++)
                hash = (hash ^ ends->asked.s6_addr[i]) * 16777619u;
        return hash % SLOTS;
}

static bool is_flow_of(const struct udp_flow *flow, const struct packet_ends *ends, uint16_t port)
{
        struct in6_addr ours, theirs;
        uint16_t our_port, their_port;
        target_load(&flow->ends.client, &ours, &our_port);
        target_load(&ends->client, &theirs, &their_port);
        return flow->report.target.port == port && our_port == their_port &&
               IN6_ARE_ADDR_EQUAL(&ours, &theirs) && IN6_ARE_ADDR_EQUAL(&flow->ends.asked, &ends->asked);
}

static void end_udp_flow(struct udp_flow *flow, const char *why)
{
        if (flow->ended)
                return;
        flow->ended = true;
        for (struct udp_flow **link = &slots[slot_of(&flow->ends, flow->report.target.port)]; *link;
             link = &(*link)->next)
                if (*link == flow) {
                        *link = flow->next;
                        break;
                }
        if (flow->resolving)
                resolve_cancel(flow->resolving);
        timer_stop(&flow->idle);
        source_close(&flow->source);
        report_flow(&flow->report, why);
        free(flow->first);
        nat.flows--;
        flow_count--;
        loop_free_later(flow);
}

void udp_end_all(const char *why)
{
        for (size_t i = 0; i < SLOTS; i++)
                while (slots[i])
                        end_udp_flow(slots[i], why);
}

static void idle_due(struct timer *timer)
{
        end_udp_flow(OWNER(timer, struct udp_flow, idle), NULL);
}

static void host_ready(struct source *source)
{
        struct udp_flow *flow = OWNER(source, struct udp_flow, source);
        for (int i = 0; i < PER_TURN; i++) {
                /* An error is an ICMP message. The destination may come back: silence ends the flow. */
                ssize_t length = recv(source->descriptor, nat.buffer, NAT_BUFFER, MSG_DONTWAIT);
                if (length < 0)
                        return;
                flow->report.down += (uint64_t)length;
                timer_start(&flow->idle, TIMER_IDLE, idle_due);
                packet_answer(flow->gateway, &flow->ends, nat.buffer, (size_t)length);
        }
}

static void send_to_host(struct udp_flow *flow, const uint8_t *bytes, size_t length)
{
        flow->report.up += length;
        timer_start(&flow->idle, TIMER_IDLE, idle_due);
        (void)send(flow->source.descriptor, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Connects to the first address that the rules allow. False when none can be used. */
static bool open_host_socket(struct udp_flow *flow, const struct in6_addr *addresses, size_t count)
{
        enum verdict refused = VERDICT_ALLOWED;
        for (size_t i = 0; i < count; i++) {
                struct sockaddr_storage destination;
                enum verdict verdict = target_judge_address(&flow->report.target, &addresses[i]);
                if (verdict != VERDICT_ALLOWED) {
                        if (refused == VERDICT_ALLOWED)
                                report_denied_address(&flow->report.target, &addresses[i], verdict);
                        refused = verdict;
                        continue;
                }
                socklen_t length = target_store(&addresses[i], flow->report.target.port, &destination);
                int made = socket(destination.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
                if (made < 0)
                        continue;
                if (connect(made, (struct sockaddr *)&destination, length) == 0 &&
                    source_add(&flow->source, made, EPOLLIN, host_ready)) {
                        flow->report.address = addresses[i];
                        flow->report.connected = true;
                        return true;
                }
                close(made);
                flow->source.descriptor = -1;
        }
        return false;
}

static void got_addresses(struct udp_flow *flow, const struct in6_addr *addresses, size_t count,
                          const char *why)
{
        if (!open_host_socket(flow, addresses, count)) {
                why = why ? why : "none of its addresses can be used";
                report_failed(&flow->report.target, why);
                end_udp_flow(flow, why);
                return;
        }
        if (flow->first)
                send_to_host(flow, flow->first, flow->first_length);
        free(flow->first);
        flow->first = NULL;
}

static void got_answer(void *context, const struct in6_addr *addresses, size_t count, const char *why);

/* The answer may come before resolve_begin() returns. */
static void look_up(struct udp_flow *flow, int family)
{
        flow->family = family;
        struct resolving *resolving = resolve_begin(flow->report.target.name, family, got_answer, flow);
        if (resolving)
                flow->resolving = resolving;
}

static void got_answer(void *context, const struct in6_addr *addresses, size_t count, const char *why)
{
        struct udp_flow *flow = context;
        flow->resolving = NULL;
        if (count == 0 && flow->family == AF_INET)
                look_up(flow, AF_INET6);
        else
                got_addresses(flow, addresses, count, why);
}

static void begin_udp_flow(int gateway, const struct packet_ends *ends, const struct target *target,
                           const uint8_t *bytes, size_t length)
{
        /* The flow that has been silent for longest makes room: a new destination matters more than an old
         * one. */
        if (flow_count > 0 && (flow_count >= FLOWS_MAX || nat.flows >= nat.flows_max))
                end_udp_flow(OWNER(timer_first(TIMER_IDLE), struct udp_flow, idle),
                             "it made room for another flow");
        if (nat.flows >= nat.flows_max)
                return;
        struct udp_flow *flow = str_or_die(calloc(1, sizeof(*flow)));
        struct udp_flow **slot = &slots[slot_of(ends, target->port)];
        *flow = (struct udp_flow){.source.descriptor = -1,
                                  .next = *slot,
                                  .ends = *ends,
                                  .gateway = gateway,
                                  .report = {.target = *target, .began = nat.now}};
        *slot = flow;
        nat.flows++;
        flow_count++;
        timer_start(&flow->idle, TIMER_IDLE, idle_due);
        if (length <= FIRST_MAX) {
                flow->first = str_or_die(malloc(length + 1));
                memcpy(flow->first, bytes, length);
                flow->first_length = length;
        }
        if (target->name)
                look_up(flow, AF_INET);
        else
                got_addresses(flow, &target->address, 1, NULL);
}

/* Whether a datagram claims to come from a socket of the gateway. With IPV6_FREEBIND the sandbox may choose
 * any IPv6 source address. hutch-nat would then receive its own answer as a datagram of the sandbox and send
 * it on, for ever. */
static bool is_from_gateway(const struct packet_ends *ends)
{
        struct in6_addr client, sandbox4, sandbox6;
        uint16_t port;
        target_load(&ends->client, &client, &port);
        bool own = false;
        for (const struct gateway_socket *gateway = gateways; gateway && !own; gateway = gateway->next)
                own = gateway->port == port;
        if (!own)
                return false;
        /* A client of the sandbox may use such a port, at the sandbox's addresses. */
        address_parse(NETWORK_SANDBOX4, &sandbox4);
        address_parse(NETWORK_SANDBOX6, &sandbox6);
        return !IN6_ARE_ADDR_EQUAL(&client, &sandbox4) && !IN6_ARE_ADDR_EQUAL(&client, &sandbox6);
}

static void handle_datagram(int gateway, uint16_t port, const struct packet_ends *ends, const uint8_t *bytes,
                            size_t length)
{
        for (struct udp_flow *flow = slots[slot_of(ends, port)]; flow; flow = flow->next)
                if (is_flow_of(flow, ends, port)) {
                        if (flow->report.connected)
                                send_to_host(flow, bytes, length);
                        return;
                }
        struct target target = {.address = ends->asked, .port = port, .transport = TRANSPORT_UDP};
        enum verdict verdict = target_judge(&target);
        if (verdict == VERDICT_ALLOWED)
                begin_udp_flow(gateway, ends, &target, bytes, length);
        else
                report_denied(&target, verdict);
}

static void gateway_ready(struct source *source)
{
        const struct gateway_socket *gateway = OWNER(source, struct gateway_socket, source);
        for (int i = 0; i < PER_TURN; i++) {
                struct packet_ends ends;
                ssize_t length = packet_receive(source->descriptor, nat.buffer, NAT_BUFFER, &ends);
                if (length < 0)
                        return;
                if (!is_from_gateway(&ends))
                        handle_datagram(source->descriptor, gateway->port, &ends, nat.buffer, (size_t)length);
        }
}

void udp_serve(int descriptor, uint16_t port)
{
        struct gateway_socket *gateway = str_or_die(calloc(1, sizeof(*gateway)));
        gateway->port = port;
        gateway->next = gateways;
        gateways = gateway;
        source_serve(&gateway->source, descriptor, gateway_ready);
}
