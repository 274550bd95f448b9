/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of one flow: in order, with half-closes, slow ends and a bound on what waits.
 */
#include "nat_rig.h"

#include "nat/relay.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>

/* A flow between two peers of the test: `client` and `server` are the peers' sockets. */
static struct relay_end client_end, server_end;
static int client, server;
static enum relay_result result;

static void client_ready(struct source *source)
{
        (void)source;
        result = relay_move(&client_end, &server_end, source->reported);
}

static void server_ready(struct source *source)
{
        (void)source;
        result = relay_move(&server_end, &client_end, source->reported);
}

static void open_pair(struct relay_end *end, int *peer, void (*ready)(struct source *source))
{
        int ends[2];
        CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
        *end = (struct relay_end){0};
        CHECK(source_add(&end->source, ends[0], RELAY_INPUT, ready));
        *peer = ends[1];
}

static void start(void)
{
        rig_start(NULL, NULL, false);
        CHECK(relay_prepare());
        open_pair(&client_end, &client, client_ready);
        open_pair(&server_end, &server, server_ready);
        result = RELAY_GOES_ON;
}

static bool receives(int from, const char *expected)
{
        char text[100] = "";
        ssize_t length = recv(from, text, sizeof(text) - 1, 0);
        return length == (ssize_t)strlen(expected) && strcmp(text, expected) == 0;
}

static void both_ways(void)
{
        char byte;
        start();
        CHECK(write(client, "question", 8) == 8);
        loop_turn();
        CHECK(receives(server, "question"));
        CHECK(write(server, "answer", 6) == 6 && shutdown(server, SHUT_WR) == 0);
        loop_turn();
        CHECK(receives(client, "answer") && recv(client, &byte, 1, 0) == 0 && result == RELAY_GOES_ON);
        /* One side has ended; the other may go on. */
        CHECK(write(client, "more", 4) == 4);
        loop_turn();
        CHECK(receives(server, "more") && shutdown(client, SHUT_WR) == 0);
        loop_turn();
        CHECK(result == RELAY_ENDED && client_end.taken == 12 && server_end.taken == 6);
}
TEST_IN_CHILD(both_ways)

/* Bytes that were pushed leave before those that are read later. */
static void pushed(void)
{
        start();
        CHECK(relay_push(&server_end, (const uint8_t *)"first ", 6));
        CHECK(relay_push(&server_end, (const uint8_t *)"second ", 7));
        CHECK(relay_move(&server_end, &client_end, 0) == RELAY_GOES_ON);
        CHECK(write(client, "third", 5) == 5);
        loop_turn();
        CHECK(receives(server, "first second third"));
}
TEST_IN_CHILD(pushed)

static uint8_t pattern(size_t at)
{
        return (uint8_t)(at * 31 + at / 251);
}

/* Writes as much as fits. */
static void write_some(size_t *at, size_t total)
{
        uint8_t bytes[65536];
        size_t length = total - *at < sizeof(bytes) ? total - *at : sizeof(bytes);
        for (size_t i = 0; i < length; i++)
                bytes[i] = pattern(*at + i);
        ssize_t written = length ? send(client, bytes, length, MSG_DONTWAIT) : 0;
        CHECK(written >= 0 || errno == EAGAIN);
        *at += written > 0 ? (size_t)written : 0;
}

static void read_some(size_t *at, size_t most)
{
        static uint8_t bytes[1 << 20];
        ssize_t length = recv(server, bytes, most < sizeof(bytes) ? most : sizeof(bytes), MSG_DONTWAIT);
        CHECK(length >= 0 || errno == EAGAIN);
        for (ssize_t i = 0; i < length; i++)
                CHECK(bytes[i] == pattern(*at + (size_t)i));
        *at += length > 0 ? (size_t)length : 0;
}

static bool loop_has_events(void)
{
        struct pollfd waits[] = {{.fd = client_end.source.descriptor}, {.fd = server_end.source.descriptor}};
        waits[0].events = client_end.source.events & EPOLLIN ? POLLIN : 0;
        waits[0].events |= client_end.source.events & EPOLLOUT ? POLLOUT : 0;
        waits[1].events = server_end.source.events & EPOLLIN ? POLLIN : 0;
        waits[1].events |= server_end.source.events & EPOLLOUT ? POLLOUT : 0;
        return poll(waits, 2, 0) > 0;
}

/* A server that reads nothing stops the client; then every byte arrives, in order. */
static void slow_server(void)
{
        enum { TOTAL = 16 << 20 };
        size_t written = 0, read_ = 0, stalled;
        start();
        do {
                stalled = written;
                write_some(&written, TOTAL);
                while (loop_has_events())
                        loop_turn();
        } while (written > stalled);
        CHECK(written < TOTAL && server_end.pending && !(client_end.source.events & EPOLLIN));
        CHECK(server_end.pending_to - server_end.pending_from <= NAT_BUFFER);
        while (read_ < TOTAL) {
                read_some(&read_, TOTAL);
                write_some(&written, TOTAL);
                while (loop_has_events())
                        loop_turn();
        }
        CHECK(!server_end.pending && result == RELAY_GOES_ON && client_end.taken == TOTAL);
}
TEST_IN_CHILD(slow_server)

/* The end of input waits for the bytes before it. */
static void end_after_pending(void)
{
        enum { TOTAL = 4 << 20 };
        size_t written = 0, read_ = 0, stalled;
        start();
        do {
                stalled = written;
                write_some(&written, TOTAL);
                while (loop_has_events())
                        loop_turn();
        } while (written > stalled);
        CHECK(server_end.pending && shutdown(client, SHUT_WR) == 0);
        while (read_ < written) {
                size_t before = read_;
                read_some(&read_, TOTAL);
                CHECK(read_ > before);
                while (loop_has_events() && result == RELAY_GOES_ON)
                        loop_turn();
        }
        char byte;
        CHECK(recv(server, &byte, 1, MSG_DONTWAIT) == 0 && result == RELAY_GOES_ON);
}
TEST_IN_CHILD(end_after_pending)

static void bound(void)
{
        enum { BOUND = 128 << 20 };
        CHECK(!relay_hold(BOUND + 1));
        CHECK(relay_hold(BOUND - 1));
        CHECK(!relay_hold(2));
        CHECK(relay_hold(1));
        relay_release(BOUND);
        CHECK(relay_hold(BOUND));
        struct relay_end end = {.source.descriptor = -1};
        CHECK(!relay_push(&end, (const uint8_t *)"x", 1) && !end.pending);
        relay_release(1);
        CHECK(relay_push(&end, (const uint8_t *)"x", 1) && end.pending_to == 1 && !relay_hold(1));
        relay_close(&end, false);
        CHECK(relay_hold(1));
}
TEST_IN_CHILD(bound)

static void broken(void)
{
        start();
        close(server);
        CHECK(write(client, "x", 1) == 1);
        client_end.source.reported = EPOLLIN;
        client_ready(&client_end.source);
        CHECK(result == RELAY_BROKEN && errno == EPIPE);
}
TEST_IN_CHILD(broken)

/* A pair of TCP sockets, where a reset and an orderly end differ. */
static void open_tcp(struct relay_end *end, int *peer)
{
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t length = sizeof(address);
        int listener = socket(AF_INET, SOCK_STREAM, 0), connected = socket(AF_INET, SOCK_STREAM, 0);
        CHECK(bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 1) == 0);
        CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
        CHECK(connect(connected, (struct sockaddr *)&address, length) == 0);
        *peer = accept(listener, NULL, NULL);
        *end = (struct relay_end){0};
        CHECK(*peer >= 0 && source_add(&end->source, connected, RELAY_INPUT, client_ready));
        close(listener);
}

/* What the peer reads once something has arrived: 0 at an end, or a negative errno. */
static ssize_t read_end(int peer)
{
        struct pollfd waits = {.fd = peer, .events = POLLIN};
        char byte;
        CHECK(poll(&waits, 1, 3000) == 1);
        return recv(peer, &byte, 1, 0) < 0 ? -errno : 0;
}

static void closing(void)
{
        start();
        open_tcp(&client_end, &client);
        relay_close(&client_end, true);
        CHECK(client_end.source.descriptor == -1 && read_end(client) == -ECONNRESET);
        open_tcp(&client_end, &client);
        relay_close(&client_end, false);
        CHECK(client_end.source.descriptor == -1 && read_end(client) == 0);
        /* The only copy of a socket is closed when the turn is over. */
        open_tcp(&client_end, &client);
        client_end.sole = true;
        int descriptor = client_end.source.descriptor;
        relay_close(&client_end, false);
        CHECK(client_end.source.descriptor == -1 && fcntl(descriptor, F_GETFD) >= 0);
        CHECK(write(server, "x", 1) == 1);
        loop_turn();
        CHECK(fcntl(descriptor, F_GETFD) < 0 && read_end(client) == 0);
}
TEST_IN_CHILD(closing)

static void reset_by_peer(void)
{
        struct linger at_once = {.l_onoff = 1};
        start();
        open_tcp(&client_end, &client);
        CHECK(relay_move(&client_end, &server_end, EPOLLERR) ==
              RELAY_GOES_ON); /* it was no error of a socket */
        CHECK(setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)) == 0 &&
              close(client) == 0);
        loop_turn();
        CHECK(result == RELAY_BROKEN && errno == ECONNRESET);
}
TEST_IN_CHILD(reset_by_peer)

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_both_ways),   cmocka_unit_test(test_pushed),
            cmocka_unit_test(test_slow_server), cmocka_unit_test(test_end_after_pending),
            cmocka_unit_test(test_bound),       cmocka_unit_test(test_broken),
            cmocka_unit_test(test_closing),     cmocka_unit_test(test_reset_by_peer),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
