/* SPDX-License-Identifier: Apache-2.0
 *
 * One TCP flow of the sandbox, from accept() to its end.
 *
 *     accepted ──► judged by its target ──► refused: reset
 *                          │
 *                          ▼
 *     the connection is opened (connect.c) while the client's first bytes are looked at:
 *     a server name or a Host that is not the target's name resets the flow
 *                          │
 *                          ▼
 *     both ends are there and the first bytes, if the client spoke first, are judged ──► relayed
 *
 * A server that speaks first is never kept waiting: as soon as it has, the client's silence is no reason to
 * wait. Nothing of the client goes out before it is judged.
 */
#include "nat/flow.h"

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
        LATE_RESETS_MAX = 256, /* that wait for their client at a time */
};

struct listener {
        struct acceptor acceptor;
        uint16_t host_port; /* of the host's loopback, for a listener on the sandbox's; else 0 */
};

struct flow {
        struct flow *next, *previous;    /* of all that are open */
        struct relay_end client, server; /* the sandbox, and the world */
        struct target target;
        struct in6_addr address; /* the real one, once connected */
        struct connecting *connecting;
        struct timer patience; /* TIMER_SNIFF, while a ClientHello or a head is half there */
        bool judged;           /* what the client sent first may go out */
        bool connected;
        bool refused; /* and reported so */
        bool ended;
        uint8_t *head; /* what the client has sent before it was judged */
        size_t head_length;
        long long began;
};

/* A connection that is refused as soon as its client has spoken, or had the time to. Some clients (fetch of
 * Node.js) wait for ever when they are reset while they take note of being connected. */
struct late_reset {
        struct source source;
        struct timer timer;
};

static struct flow *open_flows;
static size_t late_resets;

static void reset_now(struct source *source)
{
        struct relay_end end = {.source = {.descriptor = source->descriptor}};
        source->descriptor = -1;
        relay_close(&end, true);
}

static void end_late_reset(struct late_reset *late_reset)
{
        late_resets--;
        timer_stop(&late_reset->timer);
        reset_now(&late_reset->source);
        loop_free_later(late_reset);
}

static void late_reset_ready(struct source *source, uint32_t events)
{
        (void)events;
        end_late_reset(OWNER(source, struct late_reset, source));
}

static void late_reset_due(struct timer *timer)
{
        end_late_reset(OWNER(timer, struct late_reset, timer));
}

/* Resets a connection, which is taken over and not in the loop. */
static void refuse_connection(int descriptor)
{
        struct source source = {.descriptor = descriptor};
        bool room = late_resets < LATE_RESETS_MAX && nat.flows + late_resets < nat.flows_max;
        struct late_reset *late_reset = room ? calloc(1, sizeof(*late_reset)) : NULL;
        if (!late_reset || !source_add(&late_reset->source, descriptor, EPOLLIN, late_reset_ready)) {
                free(late_reset);
                reset_now(&source);
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
        if (!flow->refused)
                report_flow(&(struct flow_report){
                    .target = &flow->target,
                    .address = flow->connected ? &flow->address : NULL,
                    .proxied = proxy_for(&flow->target) != NULL,
                    .up = flow->client.taken,
                    .down = flow->server.taken,
                    .began = flow->began,
                    .why = why,
                });
        drop_head(flow);
        nat.flows--;
        loop_free_later(flow);
}

static void relay(struct flow *flow, struct relay_end *end, uint32_t events)
{
        struct relay_end *other = end == &flow->client ? &flow->server : &flow->client;
        switch (relay_move(end, other, events)) {
        case RELAY_GOES_ON:
                return;
        case RELAY_ENDED:
                end_flow(flow, false, NULL);
                return;
        case RELAY_BROKEN:
                end_flow(flow, true, strerror(errno));
                return;
        }
}

/* Both ends are there and the client's first bytes, if any, may go out. */
static void begin_relay(struct flow *flow)
{
        if (!flow->connected || !flow->judged)
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

static void refuse_head(struct flow *flow, const char *what, const char *named)
{
        report_mismatch(&flow->target, what, named);
        flow->refused = true;
        end_flow(flow, true, "its first bytes were refused");
}

static void patience_due(struct timer *timer)
{
        struct flow *flow = OWNER(timer, struct flow, patience);
        end_flow(flow, true, "the client did not finish what it began to send");
}

/* Looks at what the client has sent first. */
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
        switch (sniff) {
        case SNIFF_OTHER:
                pass_head(flow);
                return;
        case SNIFF_NAME:
                if (str_equal(named, flow->target.name))
                        pass_head(flow);
                else
                        refuse_head(flow, what, named);
                return;
        case SNIFF_NO_NAME:
        case SNIFF_BAD:
                refuse_head(flow, what, NULL);
                return;
        case SNIFF_MORE:
                if (flow->client.input_ended && flow->head_length == 0)
                        pass_head(flow);
                else if (flow->client.input_ended)
                        refuse_head(flow, what, NULL); /* half a head, which a lenient server might act on */
                return;
        }
}

/* Reads what the client sends before it is judged. */
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

static void client_ready(struct source *source, uint32_t events)
{
        struct flow *flow = OWNER(source, struct flow, client.source);
        if (flow->connected && flow->judged)
                relay(flow, &flow->client, events);
        else if (events & EPOLLERR)
                end_flow(flow, true, "the client went away");
        else if (!flow->judged)
                read_head(flow);
        else /* judged, and waiting for the connection: its next bytes wait in the kernel */
                source_want(&flow->client.source, 0);
}

static void server_ready(struct source *source, uint32_t events)
{
        struct flow *flow = OWNER(source, struct flow, server.source);
        if (flow->judged) {
                relay(flow, &flow->server, events);
                return;
        }
        if (events & EPOLLERR) {
                end_flow(flow, true, "the server went away");
                return;
        }
        /* The server has spoken, or ended, first. What a client has begun is still judged. */
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
                if (!proxy_for(&flow->target)) /* of the proxy it was said already */
                        report_failed(&flow->target, why);
                if (flow->client.taken == 0) {
                        int client = flow->client.source.descriptor;
                        source_detach(&flow->client.source);
                        flow->client.source.descriptor = -1;
                        refuse_connection(client);
                }
                end_flow(flow, true, why);
                return;
        }
        flow->address = *address;
        flow->connected = true;
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
                report_note(
                    "%zu connections are open, as many as the limit of open files allows; refusing more",
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
        flow->target = *target;
        flow->began = nat.now;
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
        /* An address that no name was given for promises nothing about the server's name. */
        flow->judged = target->name == NULL;
        struct connecting *connecting = connect_begin(target, connected, flow);
        if (!flow->ended && !flow->connected)
                flow->connecting = connecting;
        /* A client that speaks first has mostly done so by now. */
        if (!flow->ended && (flow->connected || !flow->judged))
                client_ready(&flow->client.source, EPOLLIN);
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

static void accept_flows(struct source *source, uint32_t events)
{
        struct listener *listener = OWNER(source, struct listener, acceptor.source);
        (void)events;
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
                /* Who has little else to do will be back at once, should there be another: asking in vain is
                 * dear. */
                if (!nat.busy)
                        return;
        }
}

static void serve_listener(int descriptor, uint16_t host_port)
{
        struct listener *listener = str_or_die(calloc(1, sizeof(*listener)));
        listener->host_port = host_port;
        if (!source_add(&listener->acceptor.source, descriptor, EPOLLIN, accept_flows))
                str_or_die(NULL);
}

void flow_serve(int descriptor)
{
        serve_listener(descriptor, 0);
}

void flow_serve_host_port(int descriptor, uint16_t host_port)
{
        serve_listener(descriptor, host_port);
}
