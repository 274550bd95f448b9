/* SPDX-License-Identifier: Apache-2.0
 *
 * TCP traffic to measure a network with. Both sides do one thing at a time, blocking, so that what is
 * measured is the way between them.
 *
 *   traffic serve ADDRESS PORT   four services, on PORT and the three after it; says "ready"; until killed
 *   traffic ask HOST PORT        a client of them: for each line `WHAT AMOUNT` on its input it answers with a
 *                                line `COUNT NANOSECONDS`:
 *       up MS       one stream, as fast as it goes: bytes that the server has read
 *       down MS     the other way: bytes that the client has read
 *       connect MS  connections that carry one request and one answer
 *       ping MS     one byte there and back, on one connection
 *       churn N     like connect, N of them
 */
#include "command.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum service { SINK, SOURCE, REQUEST, PING, SERVICES };
enum { STREAM_BUFFER = 256 * 1024, REQUEST_BYTES = 64 };

static char buffer[STREAM_BUFFER];

static void fail(const char *what)
{
        command_fail(what, strerror(errno));
}

static void set_nodelay(int connection)
{
        int on = 1;
        if (setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
                fail("TCP_NODELAY");
}

static bool read_whole(int connection, void *bytes, size_t length)
{
        return recv(connection, bytes, length, MSG_WAITALL) == (ssize_t)length;
}

/* -- the server */

/* A client that goes away in the middle ends nothing but its connection. */
static void serve_one(enum service service, int connection)
{
        uint64_t total = 0;
        switch (service) {
        case SINK:
                for (ssize_t got; (got = read(connection, buffer, sizeof(buffer))) > 0;)
                        total += (uint64_t)got;
                (void)!write(connection, &total, sizeof(total));
                return;
        case SOURCE:
                while (write(connection, buffer, sizeof(buffer)) > 0)
                        ;
                return;
        case REQUEST:
                if (read_whole(connection, buffer, REQUEST_BYTES))
                        (void)!write(connection, buffer, REQUEST_BYTES);
                return;
        case PING:
                set_nodelay(connection);
                while (read(connection, buffer, 1) == 1 && write(connection, buffer, 1) == 1)
                        ;
                return;
        case SERVICES:
                break;
        }
}

static int make_listener(const char *address, size_t port)
{
        struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
        int on = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (inet_pton(AF_INET, address, &place.sin_addr) != 1)
                command_fail(address, "not an address");
        if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
            bind(listener, (struct sockaddr *)&place, sizeof(place)) != 0 || listen(listener, 128) != 0)
                fail(address);
        return listener;
}

static void serve(const char *address, size_t port)
{
        for (int service = 0; service < SERVICES; service++) {
                int listener = make_listener(address, port + (size_t)service);
                pid_t child = fork();
                if (child < 0)
                        fail("fork");
                if (child > 0) {
                        close(listener);
                        continue;
                }
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                for (int connection; (connection = accept(listener, NULL, NULL)) >= 0; close(connection))
                        serve_one((enum service)service, connection);
                fail("accept");
        }
        printf("ready\n");
        fflush(stdout);
        pause();
}

/* -- the client */

static struct sockaddr_in server; /* of its first service */

static int dial(enum service service)
{
        struct sockaddr_in place = server;
        place.sin_port = htons((uint16_t)(ntohs(server.sin_port) + service));
        int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connection < 0 || connect(connection, (struct sockaddr *)&place, sizeof(place)) != 0)
                fail("connect");
        return connection;
}

static uint64_t send_stream(uint64_t end)
{
        uint64_t total;
        int connection = dial(SINK);
        while (command_now() < end)
                if (write(connection, buffer, sizeof(buffer)) < 0)
                        fail("write");
        shutdown(connection, SHUT_WR);
        if (!read_whole(connection, &total, sizeof(total)))
                fail("the server's count");
        close(connection);
        return total;
}

static uint64_t receive_stream(uint64_t end)
{
        uint64_t total = 0;
        int connection = dial(SOURCE);
        while (command_now() < end) {
                ssize_t got = read(connection, buffer, sizeof(buffer));
                if (got <= 0)
                        fail("read");
                total += (uint64_t)got;
        }
        close(connection);
        return total;
}

static uint64_t connect_often(uint64_t end, uint64_t most)
{
        uint64_t count = 0;
        do {
                int connection = dial(REQUEST);
                if (write(connection, buffer, REQUEST_BYTES) != REQUEST_BYTES ||
                    !read_whole(connection, buffer, REQUEST_BYTES))
                        fail("request");
                /* The server closes first, so that no port of the client is kept for a minute. */
                if (read(connection, buffer, 1) != 0)
                        fail("the end of an answer");
                close(connection);
        } while (++count < most && command_now() < end);
        return count;
}

static uint64_t ping_often(uint64_t end)
{
        uint64_t count = 0;
        int connection = dial(PING);
        set_nodelay(connection);
        do
                if (write(connection, "x", 1) != 1 || read(connection, buffer, 1) != 1)
                        fail("ping");
        while (++count, command_now() < end);
        close(connection);
        return count;
}

static uint64_t act(const char *what, uint64_t amount)
{
        uint64_t end = command_now() + amount * 1000000;
        if (strcmp(what, "up") == 0)
                return send_stream(end);
        if (strcmp(what, "down") == 0)
                return receive_stream(end);
        if (strcmp(what, "connect") == 0)
                return connect_often(end, UINT64_MAX);
        if (strcmp(what, "churn") == 0)
                return connect_often(UINT64_MAX, amount);
        if (strcmp(what, "ping") == 0)
                return ping_often(end);
        command_fail(what, "no such traffic");
}

static void ask(const char *host, const char *port)
{
        struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
        int error = getaddrinfo(host, port, &hints, &found);
        if (error)
                command_fail(host, gai_strerror(error));
        memcpy(&server, found->ai_addr, sizeof(server));
        freeaddrinfo(found);
        char what[16];
        unsigned long amount;
        while (scanf("%15s %lu", what, &amount) == 2) {
                uint64_t start = command_now(), count = act(what, amount);
                printf("%lu %lu\n", (unsigned long)count, (unsigned long)(command_now() - start));
                fflush(stdout);
        }
}

int main(int argc, char **argv)
{
        signal(SIGPIPE, SIG_IGN);
        if (argc == 4 && strcmp(argv[1], "serve") == 0)
                serve(argv[2], command_number(argv[3]));
        else if (argc == 4 && strcmp(argv[1], "ask") == 0)
                ask(argv[2], argv[3]);
        else
                command_fail("usage", "traffic serve|ask HOST PORT");
        return 0;
}
