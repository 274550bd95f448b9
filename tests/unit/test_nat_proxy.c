/* SPDX-License-Identifier: Apache-2.0
 *
 * The upstream proxy: which flows go through it, what it is asked, and which replies open a tunnel.
 */
#include "nat_rig.h"

#include "nat/proxy.h"

static void carried(void)
{
        struct target named = {.name = "a.test", .port = 443, .transport = TRANSPORT_TCP};
        CHECK(!proxy_for(&named));
        proxy_configure("Proxy.test");
        CHECK(!proxy_for(&named));
        proxy_configure("proxy.test 3128");
        proxy_except("direct.test");
        proxy_except("203.0.113.0/24");
        const struct target *proxy = proxy_for(&named);
        CHECK(proxy && strcmp(proxy->name, "proxy.test") == 0 && proxy->port == 3128 &&
              !proxy->host_loopback);
        CHECK(strcmp(proxy_shown(), "proxy.test:3128") == 0);
        named.name = "www.direct.test";
        CHECK(!proxy_for(&named));
        struct target literal = rig_target("203.0.113.7", 443);
        CHECK(!proxy_for(&literal));
        literal = rig_target("198.51.100.7", 443);
        CHECK(proxy_for(&literal));
        literal.transport = TRANSPORT_UDP;
        CHECK(!proxy_for(&literal));
        struct target host = {.port = 5432, .host_loopback = true};
        CHECK(!proxy_for(&host));
}
TEST_IN_CHILD(carried)

static void places(void)
{
        struct target named = {.name = "a.test", .port = 443, .transport = TRANSPORT_TCP};
        struct in6_addr six = rig_address("2001:db8::1");
        proxy_configure("2001:db8::1 8080");
        const struct target *proxy = proxy_for(&named);
        CHECK(proxy && !proxy->name && IN6_ARE_ADDR_EQUAL(&proxy->address, &six));
        CHECK(strcmp(proxy_shown(), "[2001:db8::1]:8080") == 0);
}
TEST_IN_CHILD(places)

static void loopback_place(void)
{
        struct target named = {.name = "a.test", .port = 443, .transport = TRANSPORT_TCP};
        proxy_configure("localhost 8080 dXNlcjpwYXNz");
        CHECK(proxy_for(&named) && proxy_for(&named)->host_loopback && !proxy_for(&named)->name);
}
TEST_IN_CHILD(loopback_place)

static int done_calls, done_result;
static char done_why[200];

static void note_done(void *context, int result, const char *why)
{
        CHECK(context == &done_calls);
        done_calls++;
        done_result = result;
        snprintf(done_why, sizeof(done_why), "%s", why ? why : "");
}

/* Begins a tunnel and returns the proxy's end, once the request is there. */
static int begin(const struct target *target, const char *expected)
{
        int ends[2];
        char request[500] = "";
        done_calls = 0;
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
        CHECK(proxy_begin(ends[0], target, note_done, &done_calls) && done_calls == 0);
        loop_turn();
        ssize_t length = recv(ends[1], request, sizeof(request) - 1, MSG_DONTWAIT);
        if (length <= 0 || strcmp(request, expected) != 0)
                fprintf(stderr, "expected: %s\nreceived: %s\n", expected, request);
        CHECK(length > 0 && strcmp(request, expected) == 0);
        return ends[1];
}

static void reply(int to, const char *text)
{
        CHECK(write(to, text, strlen(text)) == (ssize_t)strlen(text));
        loop_turn();
}

static void tunnel(void)
{
        struct target literal = rig_target("203.0.113.7", 443);
        rig_start(NULL, NULL, false);
        proxy_configure("localhost 8080 dXNlcjpwYXNz");
        (void)begin(&literal, "CONNECT 203.0.113.7:443 HTTP/1.1\r\nHost: 203.0.113.7:443\r\n"
                              "Proxy-Authorization: Basic dXNlcjpwYXNz\r\n\r\n");
        CHECK(strcmp(rig_message(0), "") == 0);
        struct target target = {.name = "a.test", .port = 443, .transport = TRANSPORT_TCP};
        int proxy = begin(&target, "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n"
                                   "Proxy-Authorization: Basic dXNlcjpwYXNz\r\n\r\n");
        reply(proxy, "HTTP/1.1 200 OK\r\nA: b\r\n");
        CHECK(done_calls == 0);
        /* The server may speak at once; its bytes stay in the socket. */
        reply(proxy, "\r\nSSH-2.0");
        char rest[20] = "";
        CHECK(done_calls == 1 && done_result >= 0 &&
              recv(done_result, rest, sizeof(rest) - 1, MSG_DONTWAIT) == 7);
        CHECK(strcmp(rest, "SSH-2.0") == 0);
        /* The user reads once that hutch cannot check names behind the proxy. */
        CHECK(strstr(rig_message(NAT_NOTE), "through the proxy localhost:8080"));
        (void)begin(&target, "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n"
                             "Proxy-Authorization: Basic dXNlcjpwYXNz\r\n\r\n");
        CHECK(strcmp(rig_message(0), "") == 0);
}
TEST_IN_CHILD(tunnel)

static void no_tunnel(void)
{
        static const struct {
                const char *reply, *why;
        } rows[] = {
            {"HTTP/1.1 403 Forbidden\r\n\r\n", "it refuses with status 403"},
            {"HTTP/1.1 199 X\r\n\r\n", "it refuses with status 199"},
            {"HTTP/1.1 300 X\r\n\r\n", "it refuses with status 300"},
            {"HTTP/1.1 407 X\r\n\r\n", "it wants a user name and password"},
            {"SSH-2.0\r\n\r\n", "its answer is not that of an HTTP proxy"},
        };
        rig_start(NULL, NULL, false);
        proxy_configure("localhost 8080");
        for (size_t i = 0; i < COUNT(rows); i++) {
                struct target target = rig_target("2001:db8::1", (uint16_t)(i + 1));
                char expected[200];
                snprintf(expected, sizeof(expected),
                         "CONNECT [2001:db8::1]:%zu HTTP/1.1\r\nHost: [2001:db8::1]:%zu\r\n\r\n", i + 1,
                         i + 1);
                int proxy = begin(&target, expected);
                reply(proxy, rows[i].reply);
                CHECK(done_calls == 1 && done_result < 0 &&
                      strncmp(done_why, rows[i].why, strlen(rows[i].why)) == 0);
                CHECK(strstr(rig_message(NAT_DENIED), rows[i].why));
                CHECK(recv(proxy, expected, 1, MSG_DONTWAIT) == 0);
                close(proxy);
        }
}
TEST_IN_CHILD(no_tunnel)

static void no_reply(void)
{
        struct target target = rig_target("203.0.113.7", 443);
        static char endless[20000];
        rig_start(NULL, NULL, false);
        proxy_configure("localhost 8080 dXNlcjpwYXNz");
        static const char request[] = "CONNECT 203.0.113.7:443 HTTP/1.1\r\nHost: 203.0.113.7:443\r\n"
                                      "Proxy-Authorization: Basic dXNlcjpwYXNz\r\n\r\n";
        close(begin(&target, request));
        loop_turn();
        CHECK(done_calls == 1 && done_result == -ECONNRESET);
        int proxy = begin(&target, request);
        memset(endless, 'x', sizeof(endless) - 1);
        reply(proxy, endless);
        CHECK(done_calls == 1 && done_result < 0);
        proxy = begin(&target, request);
        reply(proxy, "HTTP/1.1 407 X\r\n\r\n");
        CHECK(done_calls == 1 && strstr(done_why, "does not accept the user name"));
        for (const char *text = rig_message(NAT_DENIED); *text; text = rig_message(NAT_DENIED))
                CHECK(!strstr(text, "dXNlcjpwYXNz"));
}
TEST_IN_CHILD(no_reply)

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_carried),        cmocka_unit_test(test_places),
            cmocka_unit_test(test_loopback_place), cmocka_unit_test(test_tunnel),
            cmocka_unit_test(test_no_tunnel),      cmocka_unit_test(test_no_reply),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
