/* SPDX-License-Identifier: Apache-2.0
 *
 * From a target to a connected socket: the hosts file, both loopback addresses, and no address that the rules
 * refuse.
 */
#include "nat_rig.h"

#include "nat/connect.h"
#include "nat/host_routes.h"
#include "nat/proxy.h"
#include "nat/resolve.h"

#include <poll.h>

static int done_calls, done_result;
static struct in6_addr done_address;
static char done_why[200];

static void note_done(void *context, int result, const struct in6_addr *address, const char *why)
{
        CHECK(context == &done_calls);
        done_calls++;
        done_result = result;
        if (address)
                done_address = *address;
        snprintf(done_why, sizeof(done_why), "%s", why ? why : "");
}

/* A listener on an address of this machine, for which the kernel chooses the port. */
static int listen_on(const char *text, uint16_t *port)
{
        struct in6_addr address = rig_address(text);
        struct sockaddr_storage stored;
        socklen_t length = target_store(&address, 0, &stored);
        int listener = socket(stored.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (listener < 0 || bind(listener, (struct sockaddr *)&stored, length) < 0)
                _exit(RIG_SKIPPED); /* no IPv6 */
        CHECK(listen(listener, 8) == 0 && getsockname(listener, (struct sockaddr *)&stored, &length) == 0);
        target_load(&stored, &address, port);
        return listener;
}

static bool was_reached(int listener)
{
        struct pollfd waits = {.fd = listener, .events = POLLIN};
        return poll(&waits, 1, 0) == 1;
}

static void start(const char *allow, const char *host)
{
        rig_start(allow, NULL, false);
        CHECK(host_routes_open() && resolve_start());
        resolve_configure_begin();
        resolve_add_host(host);
        resolve_configure_end();
}

/* Connects, with as many turns of the loop as that takes. */
static void connect_to(const struct target *target)
{
        connect_begin(target, note_done, &done_calls);
        while (!done_calls)
                loop_turn();
        CHECK(done_calls == 1);
}

static void loopback(const char *address)
{
        uint16_t port;
        start("a.test", "203.0.113.7 other.test");
        int listener = listen_on(address, &port);
        struct in6_addr expected = rig_address(address);
        struct target target = {.host_loopback = true, .port = port};
        connect_to(&target);
        CHECK(done_result >= 0 && was_reached(listener) && IN6_ARE_ADDR_EQUAL(&done_address, &expected));
}

static void host_loopback(void)
{
        loopback("127.0.0.1");
}
TEST_IN_CHILD(host_loopback)

/* A service that listens on ::1 only is found too. */
static void host_loopback6(void)
{
        loopback("::1");
}
TEST_IN_CHILD(host_loopback6)

static void nothing_listens(void)
{
        uint16_t port;
        start("a.test", "203.0.113.7 other.test");
        close(listen_on("127.0.0.1", &port));
        struct target target = {.host_loopback = true, .port = port};
        connect_to(&target);
        CHECK(done_result == -ECONNREFUSED && strcmp(done_why, strerror(ECONNREFUSED)) == 0);
}
TEST_IN_CHILD(nothing_listens)

/* An allowed name whose owner points it at this machine. */
static void refused_address(void)
{
        uint16_t port;
        char allow[40];
        int listener = listen_on("127.0.0.1", &port);
        snprintf(allow, sizeof(allow), "rebound.test:%u/private", port);
        start(allow, "127.0.0.1 rebound.test");
        struct target target = {.name = "rebound.test", .port = port};
        connect_to(&target);
        CHECK(done_result < 0 && strcmp(done_why, "it resolves to an address that the rules refuse") == 0);
        CHECK(!was_reached(listener));
        CHECK(strstr(rig_message(NAT_DENIED), "rebound.test"));
        CHECK(strcmp(rig_message(0), "") == 0);
}
TEST_IN_CHILD(refused_address)

static void no_name_server(void)
{
        start("a.test:443", "203.0.113.7 other.test");
        struct target target = {.name = "a.test", .port = 443};
        connect_to(&target);
        CHECK(done_result == -EHOSTUNREACH && strstr(done_why, "no name server"));
}
TEST_IN_CHILD(no_name_server)

/* The proxy may be anywhere: the user named it. A literal address that it would connect to is judged here. */
static void by_proxy(void)
{
        uint16_t port;
        char proxy[40], request[200] = "";
        start("a.test:443,203.0.113.7:443", "127.0.0.1 proxy.test");
        int listener = listen_on("127.0.0.1", &port);
        snprintf(proxy, sizeof(proxy), "proxy.test %u", port);
        proxy_configure(proxy);
        struct target literal = rig_target("10.0.0.1", 443);
        connect_to(&literal);
        CHECK(done_result == -EACCES && !was_reached(listener));
        CHECK(strstr(rig_message(NAT_DENIED), "10.0.0.1"));
        literal = rig_target("203.0.113.7", 443);
        struct connecting *allowed = connect_begin(&literal, note_done, &done_calls);
        while (allowed && !was_reached(listener))
                loop_turn();
        CHECK(allowed && done_calls == 1);
        connect_cancel(allowed);
        close(accept(listener, NULL, NULL));
        done_calls = 0;
        struct target target = {.name = "a.test", .port = 443};
        CHECK(connect_begin(&target, note_done, &done_calls));
        int accepted = -1;
        for (; accepted < 0; accepted = accept4(listener, NULL, NULL, SOCK_NONBLOCK))
                loop_turn();
        while (recv(accepted, request, sizeof(request) - 1, 0) < 0)
                loop_turn();
        static const char reply[] = "HTTP/1.1 200 OK\r\n\r\n";
        CHECK(strncmp(request, "CONNECT a.test:443 ", 19) == 0 && done_calls == 0);
        CHECK(write(accepted, reply, sizeof(reply) - 1) == sizeof(reply) - 1);
        while (!done_calls)
                loop_turn();
        struct in6_addr expected = rig_address("127.0.0.1");
        CHECK(done_result >= 0 && IN6_ARE_ADDR_EQUAL(&done_address, &expected));
}
TEST_IN_CHILD(by_proxy)

/* ---- names ---- */

static size_t found_count;
static struct in6_addr found[4];

static void note_found(void *context, const struct in6_addr *addresses, size_t count, const char *why)
{
        CHECK(context == &found_count && count <= COUNT(found) && (count > 0 || why));
        found_count = count;
        memcpy(found, addresses, count * sizeof(*addresses));
}

static void hosts_file(void)
{
        struct in6_addr first = rig_address("203.0.113.7"), second = rig_address("203.0.113.8");
        start("a.test", "203.0.113.7 old.test");
        CHECK(!resolve_begin("old.test", AF_INET, note_found, &found_count) && found_count == 1);
        resolve_configure_begin();
        resolve_add_host("203.0.113.7 a.test");
        resolve_add_host("2001:db8::7 a.test");
        resolve_add_host("203.0.113.8 a.test");
        resolve_add_host("not-an-address a.test");
        resolve_add_host("203.0.113.9 b.test");
        resolve_configure_end();
        CHECK(!resolve_begin("a.test", AF_INET, note_found, &found_count) && found_count == 2);
        CHECK(IN6_ARE_ADDR_EQUAL(&found[0], &first) && IN6_ARE_ADDR_EQUAL(&found[1], &second));
        CHECK(!resolve_begin("a.test", AF_INET6, note_found, &found_count) && found_count == 1);
        CHECK(!resolve_begin("b.test", AF_INET6, note_found, &found_count) && found_count == 0);
        CHECK(!resolve_begin("old.test", AF_INET, note_found, &found_count) && found_count == 0);
}
TEST_IN_CHILD(hosts_file)

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_host_loopback),   cmocka_unit_test(test_host_loopback6),
            cmocka_unit_test(test_nothing_listens), cmocka_unit_test(test_refused_address),
            cmocka_unit_test(test_no_name_server),  cmocka_unit_test(test_by_proxy),
            cmocka_unit_test(test_hosts_file),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
