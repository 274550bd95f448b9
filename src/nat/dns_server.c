/* SPDX-License-Identifier: Apache-2.0
 *
 * See dns_server.h. Every address is local in the gateway, so this resolver answers whichever name server the
 * sandbox asks. An allowed name gets a synthetic address, and nothing is sent for it. Questions of other
 * types go to the host's name servers, and only if their name is allowed. A refused name must never leave the
 * machine in any form.
 */
#include "nat/dns_server.h"

#include "lib/str.h"
#include "nat/dns.h"
#include "nat/loop.h"
#include "nat/names.h"
#include "nat/nat.h"
#include "nat/packets.h"
#include "nat/report.h"
#include "nat/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
        PER_TURN = 64,
        TCP_MAX = 64,        /* TCP connections at a time */
        FORWARDED_MAX = 256, /* questions at a time that wait for a name server */
};

/* A TCP connection of a client (RFC 7766). */
struct connection {
        struct source source;
        struct timer idle;
        uint8_t bytes[2 + DNS_MESSAGE_MAX];
        size_t length;
        size_t waiting; /* forwarded questions without an answer */
        bool ended;     /* the client has shut down its side */
        bool closed;
};

/* A question, and where its answer goes. */
struct asked {
        struct connection *connection; /* NULL: the question came by UDP */
        int descriptor;                /* the UDP socket */
        struct packet_ends ends;
        const uint8_t *query; /* the message that the question was read from */
        struct dns_question question;
};

/* A question that was forwarded. */
struct forwarded {
        struct asked asked;
        uint8_t query[DNS_UDP_PLAIN];
};

static size_t connections, forwarded_count;

static void close_connection(struct connection *connection)
{
        if (!connection->closed) {
                connection->closed = true;
                connections--;
                timer_stop(&connection->idle);
                source_close(&connection->source);
        }
        if (connection->waiting == 0)
                loop_free_later(connection);
}

static void answer(const struct asked *asked, const uint8_t *message, size_t length)
{
        struct connection *connection = asked->connection;
        if (!connection) {
                packet_answer(asked->descriptor, &asked->ends, message, length);
                return;
        }
        uint8_t head[2] = {(uint8_t)(length >> 8), (uint8_t)length};
        struct iovec parts[] = {{head, sizeof(head)}, {(void *)message, length}};
        struct msghdr out = {.msg_iov = parts, .msg_iovlen = 2};
        /* A client that does not read its answers loses the connection. */
        if (!connection->closed && sendmsg(connection->source.descriptor, &out,
                                           MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)(length + 2))
                close_connection(connection);
}

static void answer_empty(const struct asked *asked, enum dns_code code)
{
        uint8_t out[DNS_UDP_PLAIN];
        size_t length = dns_write_empty(asked->query, &asked->question, code, false, out, sizeof(out));
        if (length)
                answer(asked, out, length);
}

static void got_forwarded_reply(void *context, int status, int timeouts, uint8_t *reply, int length)
{
        struct forwarded *forwarded = context;
        const struct asked *asked = &forwarded->asked;
        const struct dns_question *question = &asked->question;
        size_t most = asked->connection                 ? DNS_MESSAGE_MAX
                      : question->payload < DNS_UDP_MAX ? question->payload
                                                        : DNS_UDP_MAX;
        struct connection *connection = asked->connection;
        (void)status; /* a negative reply is a reply */
        (void)timeouts;
        forwarded_count--;
        if (connection)
                connection->waiting--;
        if (connection && connection->closed) {
                close_connection(connection);
                free(forwarded);
                return;
        }
        if (!reply || length <= 0) {
                answer_empty(asked, DNS_SERVER_FAILURE);
        } else {
                size_t written = dns_write_forwarded(asked->query, question, reply, (size_t)length,
                                                     &nat.rules, nat.buffer, most);
                if (written)
                        answer(asked, nat.buffer, written);
        }
        if (connection && !connection->closed && connection->ended && connection->waiting == 0)
                close_connection(connection);
        free(forwarded);
}

static void forward(const struct asked *asked)
{
        if (forwarded_count >= FORWARDED_MAX || asked->question.question_end > DNS_UDP_PLAIN) {
                answer_empty(asked, DNS_SERVER_FAILURE);
                return;
        }
        struct forwarded *forwarded = str_or_die(calloc(1, sizeof(*forwarded)));
        forwarded->asked = *asked;
        forwarded->asked.query = memcpy(forwarded->query, asked->query, asked->question.question_end);
        forwarded_count++;
        if (asked->connection)
                asked->connection->waiting++;
        resolve_query(asked->question.name, asked->question.type, got_forwarded_reply, forwarded);
}

static void answer_address(const struct asked *asked)
{
        const struct dns_question *question = &asked->question;
        struct in6_addr address;
        uint8_t out[DNS_UDP_PLAIN];
        int number = names_number(nat.names, question->name);
        if (number < 0) {
                report_note(
                    "network: no address for %s: the sandbox has asked for %d names, as many as hutch has "
                    "addresses for",
                    question->name, NAMES_MAX);
                answer_empty(asked, DNS_SERVER_FAILURE);
                return;
        }
        if (question->type == DNS_A)
                names_address4(number, &address);
        else
                names_address6(number, &address);
        size_t length = dns_write_address(asked->query, question, &address, out, sizeof(out));
        if (length)
                answer(asked, out, length);
}

/* Answers one question. */
static void answer_question(const struct asked *asked)
{
        enum { CLASS_IN = 1 };
        const struct dns_question *question = &asked->question;
        if (question->problem != DNS_OK) {
                answer_empty(asked, question->problem);
                return;
        }
        if (question->class_ != CLASS_IN || !question->printable ||
            !rules_cover_name(&nat.rules, question->name)) {
                if (question->printable && (question->type == DNS_A || question->type == DNS_AAAA))
                        report_name(question->name);
                report_question(question->printable ? question->name : "?", question->type, false);
                answer_empty(asked, DNS_NO_NAME);
                return;
        }
        report_question(question->name, question->type, true);
        if (question->type == DNS_A || (question->type == DNS_AAAA && nat.v6))
                answer_address(asked);
        else if (question->type == DNS_AAAA || question->type == DNS_HTTPS || question->type == DNS_SVCB ||
                 question->type == DNS_ANY)
                answer_empty(asked, DNS_OK);
        else
                forward(asked);
}

static void udp_ready(struct source *source)
{
        static uint8_t message[DNS_MESSAGE_MAX];
        for (int i = 0; i < PER_TURN; i++) {
                struct asked asked = {.descriptor = source->descriptor, .query = message};
                ssize_t length = packet_receive(source->descriptor, message, sizeof(message), &asked.ends);
                if (length < 0)
                        return;
                if (dns_read_question(message, (size_t)length, &asked.question))
                        answer_question(&asked);
        }
}

static void idle_due(struct timer *timer)
{
        close_connection(OWNER(timer, struct connection, idle));
}

/* Answers every complete question that has arrived. */
static void answer_questions(struct connection *connection)
{
        while (!connection->closed && connection->length >= 2) {
                size_t length = (size_t)connection->bytes[0] << 8 | connection->bytes[1];
                if (connection->length < 2 + length)
                        return;
                struct asked asked = {.connection = connection, .query = connection->bytes + 2};
                if (!dns_read_question(asked.query, length, &asked.question)) {
                        close_connection(connection);
                        return;
                }
                answer_question(&asked);
                connection->length -= 2 + length;
                memmove(connection->bytes, connection->bytes + 2 + length, connection->length);
        }
}

static void tcp_ready(struct source *source)
{
        struct connection *connection = OWNER(source, struct connection, source);
        ssize_t length = recv(source->descriptor, connection->bytes + connection->length,
                              sizeof(connection->bytes) - connection->length, MSG_DONTWAIT);
        if (length < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (length == 0 && connection->waiting) {
                connection->ended = true; /* it still gets the answers that it waits for */
                source_want(source, 0);
                return;
        }
        if (length <= 0) {
                close_connection(connection);
                return;
        }
        connection->length += (size_t)length;
        timer_start(&connection->idle, TIMER_SNIFF, idle_due);
        answer_questions(connection);
}

static void tcp_accept(struct source *source)
{
        int accepted = acceptor_next(OWNER(source, struct acceptor, source));
        if (accepted < 0)
                return;
        struct connection *connection = connections < TCP_MAX ? calloc(1, sizeof(*connection)) : NULL;
        if (!connection || !source_add(&connection->source, accepted, EPOLLIN, tcp_ready)) {
                close(accepted);
                free(connection);
                return;
        }
        connections++;
        timer_start(&connection->idle, TIMER_SNIFF, idle_due);
}

void dns_server_add_udp(int descriptor)
{
        struct source *source = str_or_die(calloc(1, sizeof(*source)));
        source_serve(source, descriptor, udp_ready);
}

void dns_server_add_tcp(int descriptor)
{
        struct acceptor *acceptor = str_or_die(calloc(1, sizeof(*acceptor)));
        source_serve(&acceptor->source, descriptor, tcp_accept);
}
