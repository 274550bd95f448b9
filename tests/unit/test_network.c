/* SPDX-License-Identifier: Apache-2.0
 *
 * The network of a box, made of the words of the options: which ports lead where, and which the gateway
 * takes.
 */
#include "resolve/network.h"

#include "lib/suggest.h"
#include "policy/network.h"

#include <stdlib.h>

#include "tree_rig.h"

static struct box box;
static struct error error;

/* Makes the network of the words, blanks between them. */
static bool make(const char *words)
{
        struct options options;
        autofree char *line = str_format("%s%s-- true", words, *words ? " " : "");
        struct str_list argv = tree_words(line);
        network_free(&box.network);
        box = (struct box){0};
        error = (struct error){0};
        if (!options_parse(&options, "mcp", (int)argv.count, argv.values, &error))
                fail_msg("%s: %s", words, error.text);
        const struct resolver resolver = {.options = &options, .box = &box, .error = &error};
        bool made = network_make(&resolver);
        assert_int_equal(made, error.status == 0);
        options_free(&options);
        str_list_free(&argv);
        return made;
}

static void assert_made(const char *words)
{
        if (!make(words))
                fail_msg("%s: %s", words, error.text);
}

static void assert_refused(const char *words, const char *part)
{
        if (make(words))
                fail_msg("taken: %s", words);
        if (error.status != EXIT_USAGE || !strstr(error.text, part))
                fail_msg("%s: %d \"%s\", not \"%s\"", words, error.status, error.text, part);
}

static void assert_ports(const uint16_t *ports, size_t count, const char *expected)
{
        autofree char *text = str_copy("");
        for (size_t i = 0; i < count; i++) {
                char *longer = str_format("%s%s%u", text, i ? " " : "", ports[i]);
                free(text);
                text = longer;
        }
        assert_string_equal(text, expected);
}

static void assert_pairs(const struct port_pair *pairs, size_t count, const char *expected)
{
        autofree char *text = str_copy("");
        for (size_t i = 0; i < count; i++) {
                char *longer =
                    str_format("%s%sin %u host %u", text, i ? ", " : "", pairs[i].inside, pairs[i].host);
                free(text);
                text = longer;
        }
        assert_string_equal(text, expected);
}

static int set_up(void **state)
{
        static const char *const proxies[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
        (void)state;
        for (size_t i = 0; i < COUNT(proxies); i++)
                unsetenv(proxies[i]);
        return 0;
}

static int tear_down(void **state)
{
        network_free(&box.network);
        box = (struct box){0};
        return set_up(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void test_no_words_no_network(void **state)
{
        (void)state;
        assert_made("");
        assert_false(box_has_network(&box));
        assert_false(box.network.every_port);
        assert_int_equal(box.network.tcp_count + box.network.udp_count, 0);
        assert_int_equal(box.network.host_port_count + box.network.publish_count, 0);
}

static void test_ports_of_rules(void **state)
{
        (void)state;
        assert_made("--network-allow a.test,b.test:8080,c.test:123/udp --network-deny d.test");
        assert_int_equal(box.network.rules.allow.count, 3);
        assert_int_equal(box.network.rules.deny.count, 1);
        assert_string_equal(box.network.rules.deny.items[0].name, "d.test");
        assert_ports(box.network.tcp_ports, box.network.tcp_count, "80 443 8080");
        assert_ports(box.network.udp_ports, box.network.udp_count, "123");
        assert_false(box.network.every_port);
        assert_refused("--network-deny not..a..name", "--network-deny");
        assert_refused("--network-allow not..a..name", "--network-allow");
}

static void test_port_of_the_resolver(void **state)
{
        (void)state;
        assert_made("--network-allow a.test:53-55,a.test:50-53/udp");
        assert_ports(box.network.tcp_ports, box.network.tcp_count, "54 55");
        assert_ports(box.network.udp_ports, box.network.udp_count, "50 51 52");
        assert_refused("--network-allow a.test:53", "53");
        assert_refused("--network-allow b.test,a.test:53/udp", "53");
        assert_made("--network-allow localhost:53");
        assert_pairs(box.network.host_ports, box.network.host_port_count, "in 53 host 53");
}

static void test_many_ports(void **state)
{
        (void)state;
        assert_made("--network-allow a.test:1000-1063");
        assert_false(box.network.every_port);
        assert_int_equal(box.network.tcp_count, NETWORK_PORTS_MAX);
        assert_made("--network-allow a.test:1000-1064");
        assert_true(box.network.every_port);
        assert_null(box.network.tcp_ports);
        assert_int_equal(box.network.tcp_count, 0);
        assert_made("--network-allow a.test:1000-1063/udp");
        assert_int_equal(box.network.udp_count, NETWORK_PORTS_MAX);
        assert_refused("--network-allow a.test:1000-1064/udp", "more than 64 ports of UDP");
}

static void test_host_ports(void **state)
{
        (void)state;
        assert_made(
            "--host-port 5432 --host-port 15432:5432 --host-port 5432 --host-port 1 --host-port 65535");
        assert_pairs(box.network.host_ports, box.network.host_port_count,
                     "in 5432 host 5432, in 15432 host 5432, in 1 host 1, in 65535 host 65535");
        assert_made("--network-allow a.test,localhost:7000-7001 --host-port 7001");
        assert_pairs(box.network.host_ports, box.network.host_port_count,
                     "in 7001 host 7001, in 7000 host 7000");
        assert_made("--network-allow 10.0.0.1:7000");
        assert_int_equal(box.network.host_port_count, 0);
        assert_refused("--host-port 80:1 --host-port 80:2",
                       "port 80 of the sandbox cannot lead to both 1 and 2");
        assert_refused("--host-port 80:1 --network-allow localhost:80", "cannot lead to both 1 and 80");
}

static void test_published_ports(void **state)
{
        (void)state;
        assert_made("--publish 8080 --publish 18080:8081");
        assert_pairs(box.network.publish, box.network.publish_count, "in 8080 host 8080, in 8081 host 18080");
        assert_int_equal(box.network.host_port_count, 0);
        assert_refused("--publish 1:80 --publish 2:80", "--publish: port 80");
}

static void test_words_that_are_no_port(void **state)
{
        static const char *const words[] = {
            "0", "00080", "65536", "99999999999", "-1",  "+1", "1:", ":1",   "1:2:3", "1x",
            "x", "1:x",   "1:0",   "1:65536",     "1.5", "/",  "1/", "1:02", "1:2x"};
        (void)state;
        for (size_t i = 0; i < COUNT(words); i++) {
                autofree char *host = str_format("--host-port=%s", words[i]);
                autofree char *publish = str_format("--publish=%s", words[i]);
                assert_refused(host, "write HOSTPORT or PORT:HOSTPORT");
                assert_refused(publish, "write PORT or HOSTPORT:PORT");
        }
}

/* The most of NETWORK_HOST_PORTS_MAX, and one more. */
static void test_too_many_host_ports(void **state)
{
        (void)state;
        assert_made("--network-allow localhost:1000-1063");
        assert_int_equal(box.network.host_port_count, NETWORK_HOST_PORTS_MAX);
        assert_made("--network-allow localhost:1000-1063,localhost:1000-1063");
        assert_int_equal(box.network.host_port_count, NETWORK_HOST_PORTS_MAX);
        assert_refused("--network-allow localhost:1000-1064",
                       "--network-allow localhost: more than 64 ports");
}

/* The proxy is for TCP that rules allow: without any, it is not even read. */
static void test_proxy_is_for_tcp(void **state)
{
        (void)state;
        setenv("HTTPS_PROXY", "http://proxy:3128", 1);
        assert_made("--network-allow a.test");
        assert_string_equal(box.network.proxy, "proxy 3128");
        assert_made("--network-allow a.test:1000-1064");
        assert_string_equal(box.network.proxy, "proxy 3128");
        assert_made("--network-allow a.test:123/udp");
        assert_null(box.network.proxy);
        assert_made("--host-port 5432");
        assert_null(box.network.proxy);
        setenv("HTTPS_PROXY", "socks5://proxy", 1);
        assert_made("--host-port 5432");
        assert_false(make("--network-allow a.test"));
        assert_int_equal(error.status, EXIT_SETUP);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            TEST(test_no_words_no_network),
            TEST(test_ports_of_rules),
            TEST(test_port_of_the_resolver),
            TEST(test_many_ports),
            TEST(test_host_ports),
            TEST(test_published_ports),
            TEST(test_words_that_are_no_port),
            TEST(test_too_many_host_ports),
            TEST(test_proxy_is_for_tcp),
        };
        return cmocka_run_group_tests_name("network", tests, NULL, NULL);
}
