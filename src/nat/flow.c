/* SPDX-License-Identifier: Apache-2.0
 *
 * See flow.h. One TCP flow of the sandbox:
 *
 *     accepted ──► target judged ──► refused: reset
 *                       │
 *                       ▼
 *     the connection is opened (connect.c) while the client's first bytes are inspected:
 *     a server name or a Host other than the target's name resets the flow
 *                       │
 *                       ▼
 *     connected, and the first bytes passed, if the client spoke first ──► relayed (relay.c)
 *
 * Nothing of the client is sent before it is judged. A server that speaks first never waits for the client:
 * once it has spoken, the client need not speak before the flow is relayed.
 */
#include "nat/flow.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "nat/client_hello.h"
#include "nat/connect.h"
#include "nat/http_head.h"
#include "nat/loop.h"
#include "nat/nat.h"
#include "nat/proxy.h"
#include "nat/relay.h"
#include "nat/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum {
        ACCEPTS_PER_TURN = 64,
        LATE_RESETS_MAX = 256, /* at a time */
};

struct listener {
        struct acceptor acceptor;
        uint16_t host_port; /* of the host, for a listener on the sandbox's loopback; else 0 */
};

struct flow {
        struct flow *next, *previous;    /* in open_flows */
        struct relay_end client, server; /* the sandbox's side and the host's */
        struct flow_report report;
        struct connecting *connecting;
        struct timer patience; /* TIMER_SNIFF, while a ClientHello or a request head is incomplete */
        bool judged;           /* the first bytes may be sent */
        bool refused;          /* and reported as refused */
        bool ended;
        uint8_t *head; /* first bytes, until they may be sent */
        size_t head_length;
};

/* A refused connection that is reset once its client has sent something or TIMER_ATTEMPT has passed. Some
 * clients (fetch of Node.js) wait for ever when the reset arrives while they process the connection. */
struct late_reset {
        struct source source;
        struct timer timer;
};

static struct flow *open_flows;
static size_t late_resets;

static void reset_now(int descriptor)
{
        struct relay_end end = {.source = {.descriptor = descriptor}};
        relay_close(&end, true);
}

static void end_late_reset(struct late_reset *late_reset)
{
        late_resets--;
        timer_stop(&late_reset->timer);
        reset_now(fd_take(&late_reset->source.descriptor));
        loop_free_later(late_reset);
}

static void late_reset_ready(struct source *source)
{
        end_late_reset(OWNER(source, struct late_reset, source));
}

static void late_reset_due(struct timer *timer)
{
        end_late_reset(OWNER(timer, struct late_reset, timer));
}

/* Resets a connection that is not in the loop, and takes it over. */
static void refuse_connection(int descriptor)
{
        bool room = late_resets < LATE_RESETS_MAX && nat.flows + late_resets < nat.flows_max;
        struct late_reset *late_reset = room ? calloc(1, sizeof(*late_reset)) : NULL;
        if (!late_reset || !source_add(&late_reset->source, descriptor, EPOLLIN, late_reset_ready)) {
                free(late_reset);
                reset_now(descriptor);
                return;
        }
        late_resets++;
        timer_start(&late_reset->timer, TIMER_ATTEMPT, late_reset_due);
}

static void drop_head(struct flow *flow)
{
        relay_release(flow->head_length);
        free(flow->head);
        flow->head = NULL;
        flow->head_length = 0;
}

static void end_flow(struct flow *flow, bool reset, const char *why)
{
        if (flow->ended)
                return;
        flow->ended = true;
        *(flow->previous ? &flow->previous->next : &open_flows) = flow->next;
        if (flow->next)
                flow->next->previous = flow->previous;
        timer_stop(&flow->patience);
        if (flow->connecting)
                connect_cancel(flow->connecting);
        relay_close(&flow->client, reset);
        relay_close(&flow->server, reset);
        flow->report.proxied = proxy_for(&flow->report.target) != NULL;
        flow->report.up = flow->client.taken;
        flow->report.down = flow->server.taken;
        if (!flow->refused)
                report_flow(&flow->report, why);
        drop_head(flow);
        nat.flows--;
        loop_free_later(flow);
}

static void relay(struct flow *flow, struct relay_end *end, uint32_t events)
{
        struct relay_end *other = end == &flow->client ? &flow->server : &flow->client;
        enum relay_result result = relay_move(end, other, events);
        if (result == RELAY_ENDED)
                end_flow(flow, false, NULL);
        else if (result == RELAY_BROKEN)
                end_flow(flow, true, strerror(errno));
}

/* Relays once the server is connected and the client's first bytes may be sent. */
static void begin_relay(struct flow *flow)
{
        if (!flow->report.connected || !flow->judged)
                return;
        if (flow->head_length && !relay_push(&flow->server, flow->head, flow->head_length)) {
                end_flow(flow, true, strerror(ENOMEM));
                return;
        }
        drop_head(flow);
        relay(flow, &flow->server, 0);
}

static void pass_head(struct flow *flow)
{
        flow->judged = true;
        timer_stop(&flow->patience);
        begin_relay(flow);
}

static void patience_due(struct timer *timer)
{
        struct flow *flow = OWNER(timer, struct flow, patience);
        end_flow(flow, true, "the client did not finish what it began to send");
}

/* Inspects the first bytes. */
static void judge_head(struct flow *flow)
{
        char named[NAME_MAX_LENGTH + 1];
        size_t end;
        const char *what = "TLS server name";
        enum sniff sniff = client_hello_name(flow->head, flow->head_length, named);
        if (sniff == SNIFF_OTHER) {
                what = "HTTP Host";
                sniff = http_head_name(flow->head, flow->head_length, named, &end);
        }
        if (sniff == SNIFF_MORE && !flow->client.input_ended)
                return;
        bool is_named = sniff == SNIFF_NAME && str_equal(named, flow->report.target.name);
        bool is_silent = sniff == SNIFF_MORE && flow->head_length == 0;
        if (sniff == SNIFF_OTHER || is_named || is_silent) {
                pass_head(flow);
                return;
        }
        /* Refused is also a partial head, on which a lenient server might act. */
        report_mismatch(&flow->report.target, what, sniff == SNIFF_NAME ? named : NULL);
        flow->refused = true;
        end_flow(flow, true, "its first bytes were refused");
}

/* Reads first bytes of the client. */
static void read_head(struct flow *flow)
{
        ssize_t length = recv(flow->client.source.descriptor, nat.buffer, CLIENT_HELLO_MAX, 0);
        if (length < 0) {
                if (errno != EAGAIN && errno != EINTR)
                        end_flow(flow, true, strerror(errno));
                return;
        }
        if (length == 0) {
                flow->client.input_ended = true;
                source_want(&flow->client.source, 0);
                judge_head(flow);
                return;
        }
        bool room = relay_hold((size_t)length);
        uint8_t *head = room ? realloc(flow->head, flow->head_length + (size_t)length) : NULL;
        if (!head) {
                if (room)
                        relay_release((size_t)length);
                end_flow(flow, true, strerror(ENOMEM));
                return;
        }
        memcpy(head + flow->head_length, nat.buffer, (size_t)length);
        if (!flow->head)
                timer_start(&flow->patience, TIMER_SNIFF, patience_due);
        flow->head = head;
        flow->head_length += (size_t)length;
        flow->client.taken += (uint64_t)length;
        judge_head(flow);
}

static void client_ready(struct source *source)
{
        struct flow *flow = OWNER(source, struct flow, client.source);
        if (flow->report.connected && flow->judged)
                relay(flow, &flow->client, source->reported);
        else if (source->reported & EPOLLERR)
                end_flow(flow, true, "the client went away");
        else if (!flow->judged)
                read_head(flow);
        else /* the connection is not open yet: the kernel keeps the next bytes */
                source_want(&flow->client.source, 0);
}

static void server_ready(struct source *source)
{
        struct flow *flow = OWNER(source, struct flow, server.source);
        if (flow->judged) {
                relay(flow, &flow->server, source->reported);
                return;
        }
        if (source->reported & EPOLLERR) {
                end_flow(flow, true, "the server went away");
                return;
        }
        /* The server has spoken, or ended, first. Bytes that the client has sent are still judged. */
        if (flow->head_length == 0)
                pass_head(flow);
        else
                source_want(&flow->server.source, 0);
}

static void connected(void *context, int result, const struct in6_addr *address, const char *why)
{
        struct flow *flow = context;
        flow->connecting = NULL;
        if (result < 0) {
                if (!proxy_for(&flow->report.target)) /* proxy.c or connect.c has reported it */
                        report_failed(&flow->report.target, why);
                if (flow->client.taken == 0)
                        refuse_connection(source_take(&flow->client.source));
                end_flow(flow, true, why);
                return;
        }
        flow->report.address = *address;
        flow->report.connected = true;
        flow->server.sole = true;
        if (!source_add(&flow->server.source, result, RELAY_INPUT, server_ready)) {
                flow->server.source.descriptor = result;
                end_flow(flow, true, strerror(errno));
                return;
        }
        if (flow->judged)
                begin_relay(flow);
}

/* `sole`: no other process has a copy of the client's socket. */
static struct flow *new_flow(int descriptor, const struct target *target, bool sole)
{
        if (nat.flows >= nat.flows_max) {
                report_note("network: refusing more connections: %zu are open, as many as the limit on open "
                            "files (ulimit -n) allows",
                            nat.flows);
                refuse_connection(descriptor);
                return NULL;
        }
        struct flow *flow = calloc(1, sizeof(*flow));
        if (!flow || !source_add(&flow->client.source, descriptor, RELAY_INPUT, client_ready)) {
                refuse_connection(descriptor);
                free(flow);
                return NULL;
        }
        flow->server.source.descriptor = -1;
        flow->client.sole = sole;
        flow->report = (struct flow_report){.target = *target, .began = nat.now};
        flow->next = open_flows;
        if (open_flows)
                open_flows->previous = flow;
        open_flows = flow;
        nat.flows++;
        return flow;
}

static void open_flow(int descriptor, const struct target *target)
{
        struct flow *flow = new_flow(descriptor, target, true);
        if (!flow)
                return;
        /* A literal address promises nothing about the name of the server. */
        flow->judged = target->name == NULL;
        struct connecting *connecting = connect_begin(target, connected, flow);
        if (!flow->ended && !flow->report.connected)
                flow->connecting = connecting;
        /* A client that speaks first has usually done so by now. */
        flow->client.source.reported = EPOLLIN;
        if (!flow->ended && (flow->report.connected || !flow->judged))
                client_ready(&flow->client.source);
}

void flow_join(int sandbox, int host, const struct target *target)
{
        struct flow *flow = new_flow(sandbox, target, false);
        if (!flow) {
                refuse_connection(host);
                return;
        }
        flow->judged = true;
        connected(flow, host, &target->address, NULL);
}

void flow_end_all(const char *why)
{
        while (open_flows)
                end_flow(open_flows, true, why);
}

static void judge_flow(int accepted)
{
        struct target target = {.transport = TRANSPORT_TCP};
        struct sockaddr_storage local;
        socklen_t length = sizeof(local);
        if (getsockname(accepted, (struct sockaddr *)&local, &length) < 0) {
                refuse_connection(accepted);
                return;
        }
        target_load(&local, &target.address, &target.port);
        enum verdict verdict = target_judge(&target);
        if (verdict == VERDICT_ALLOWED) {
                open_flow(accepted, &target);
                return;
        }
        report_denied(&target, verdict);
        refuse_connection(accepted);
}

static void accept_flows(struct source *source)
{
        struct listener *listener = OWNER(source, struct listener, acceptor.source);
        for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
                int accepted = acceptor_next(&listener->acceptor);
                if (accepted < 0)
                        return;
                if (listener->host_port) {
                        struct target target = {.host_loopback = true, .port = listener->host_port};
                        open_flow(accepted, &target);
                } else {
                        judge_flow(accepted);
                }
                /* When the loop has little to do it is back here at once if there is another connection; an
                 * accept() that finds none is expensive. */
                if (!nat.busy)
                        return;
        }
}

void flow_serve(int descriptor, uint16_t host_port)
{
        struct listener *listener = str_or_die(calloc(1, sizeof(*listener)));
        listener->host_port = host_port;
        source_serve(&listener->acceptor.source, descriptor, accept_flows);
}
