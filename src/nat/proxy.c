/* SPDX-License-Identifier: Apache-2.0
 *
 * See proxy.h. The rules have judged a flow before it comes here. This module must never show the
 * credentials, and never read a byte after the proxy's reply, because those are the server's.
 */
#include "nat/proxy.h"

#include "lib/buf.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "nat/http_head.h"
#include "nat/loop.h"
#include "nat/relay.h"
#include "nat/report.h"
#include "policy/addresses.h"
#include "policy/no_proxy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct tunnel {
        struct source source;
        struct target target;
        proxy_done *done;
        void *context;
        struct buf request;
        size_t received; /* bytes of the head of the reply */
        uint8_t head[HTTP_REPLY_MAX];
};

static struct {
        struct target place; /* port 0: none is set */
        char *shown;
        char *credentials;
        struct str_list except;
} proxy;

void proxy_configure(const char *text)
{
        char host[NAME_MAX_LENGTH + 1], credentials[4096] = "";
        unsigned port;
        if (sscanf(text, "%253s %u %4095s", host, &port, credentials) < 2)
                return;
        struct target *place = &proxy.place;
        place->port = (uint16_t)port;
        if (str_equal(host, "localhost"))
                place->host_loopback = true;
        else if (!address_parse(host, &place->address))
                place->name = str_copy(host);
        proxy.shown = str_format(strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
        if (*credentials)
                proxy.credentials = str_copy(credentials);
}

void proxy_except(const char *entry)
{
        str_list_add(&proxy.except, entry);
}

const char *proxy_shown(void)
{
        return proxy.shown;
}

const struct target *proxy_for(const struct target *target)
{
        if (!proxy.place.port || target->host_loopback || target->transport != TRANSPORT_TCP ||
            no_proxy_covers(&proxy.except, target->name, &target->address, target->port))
                return NULL;
        return &proxy.place;
}

/* Writes the CONNECT request. The target's name was checked, so it cannot end the line. */
static char *make_request(const struct target *target)
{
        char address[ADDRESS_TEXT];
        const char *host = target->name ? target->name : address_format(&target->address, address);
        const char *open = strchr(host, ':') ? "[" : "", *close = *open ? "]" : "";
        return str_format("CONNECT %s%s%s:%u HTTP/1.1\r\nHost: %s%s%s:%u\r\n%s%s%s\r\n", open, host, close,
                          target->port, open, host, close, target->port,
                          proxy.credentials ? "Proxy-Authorization: Basic " : "",
                          proxy.credentials ? proxy.credentials : "", proxy.credentials ? "\r\n" : "");
}

void proxy_cancel(struct tunnel *tunnel)
{
        explicit_bzero(tunnel->request.bytes, tunnel->request.length);
        buf_free(&tunnel->request);
        source_close(&tunnel->source);
        relay_release(sizeof(*tunnel));
        loop_free_later(tunnel);
}

static void tunnel_fail(struct tunnel *tunnel, int error, const char *why)
{
        proxy_cancel(tunnel);
        report_proxy(proxy.shown, &tunnel->target, why);
        tunnel->done(tunnel->context, error, why);
}

static void refuse_reply(struct tunnel *tunnel, int status)
{
        if (status == 407) {
                tunnel_fail(tunnel, -EACCES,
                            proxy.credentials
                                ? "it does not accept the user name and password of the proxy variable (407)"
                                : "it wants a user name and password; write them into the proxy variable as "
                                  "http://USER:PASSWORD@HOST:PORT (407)");
                return;
        }
        autofree char *why = status < 0 ? str_copy("its answer is not that of an HTTP proxy")
                                        : str_format("it refuses with status %d", status);
        tunnel_fail(tunnel, -ECONNREFUSED, why);
}

/* The head of the reply is complete. */
static void judge_reply(struct tunnel *tunnel)
{
        int status = http_reply_status(tunnel->head, tunnel->received);
        if (status < 200 || status > 299) {
                refuse_reply(tunnel, status);
                return;
        }
        int connected = source_take(&tunnel->source);
        proxy_cancel(tunnel);
        tunnel->done(tunnel->context, connected, NULL);
}

/* Reads the head of the reply and nothing after it: the function peeks first, because the server may have
 * sent something already. */
static void read_reply(struct tunnel *tunnel)
{
        int from = tunnel->source.descriptor;
        uint8_t *into = tunnel->head + tunnel->received;
        ssize_t length = recv(from, into, sizeof(tunnel->head) - tunnel->received, MSG_PEEK);
        if (length < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (length <= 0) {
                tunnel_fail(tunnel, -ECONNRESET, "it closed the connection");
                return;
        }
        size_t end = http_reply_end(tunnel->head, tunnel->received + (size_t)length);
        size_t taken = end ? end - tunnel->received : (size_t)length;
        if (recv(from, into, taken, 0) != (ssize_t)taken) {
                tunnel_fail(tunnel, -ECONNRESET, "it closed the connection");
                return;
        }
        tunnel->received += taken;
        if (end)
                judge_reply(tunnel);
        else if (tunnel->received == sizeof(tunnel->head))
                refuse_reply(tunnel, -1);
}

static void tunnel_ready(struct source *source)
{
        struct tunnel *tunnel = OWNER(source, struct tunnel, source);
        struct buf *request = &tunnel->request;
        if (request->sent == request->length) {
                read_reply(tunnel);
                return;
        }
        ssize_t sent = send(source->descriptor, request->bytes + request->sent,
                            request->length - request->sent, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) {
                tunnel_fail(tunnel, -errno, "it closed the connection");
                return;
        }
        request->sent += sent > 0 ? (size_t)sent : 0;
        if (request->sent == request->length)
                source_want(source, EPOLLIN);
}

struct tunnel *proxy_begin(int connected, const struct target *target, proxy_done *done, void *context)
{
        if (!relay_hold(sizeof(struct tunnel))) {
                close(connected);
                return NULL;
        }
        struct tunnel *tunnel = str_or_die(calloc(1, sizeof(*tunnel)));
        tunnel->target = *target;
        tunnel->done = done;
        tunnel->context = context;
        tunnel->request.bytes = make_request(target);
        tunnel->request.length = strlen(tunnel->request.bytes);
        if (!source_add(&tunnel->source, connected, EPOLLOUT, tunnel_ready)) {
                proxy_cancel(tunnel);
                return NULL;
        }
        if (target->name)
                report_note("network: connections go through the proxy %s, which looks the names up: hutch "
                            "cannot check whether a name leads to a private address",
                            proxy.shown);
        return tunnel;
}
