/* SPDX-License-Identifier: Apache-2.0
 *
 * What is read of the proxy variables, of NO_PROXY and of a proxy's answer.
 */
#include "nat/http_head.h"
#include "policy/addresses.h"
#include "policy/no_proxy.h"
#include "resolve/network.h"
#include "resolve/proxy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool take(struct network *network, const char *url, struct error *error)
{
        static const char *const names[] = {"https_proxy", "HTTPS_PROXY", "all_proxy",
                                            "ALL_PROXY",   "no_proxy",    "NO_PROXY"};
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
                unsetenv(names[i]);
        setenv("HTTPS_PROXY", url, 1);
        *network = (struct network){0};
        *error = (struct error){0};
        return proxy_take(network, error);
}

static void test_urls(void **state)
{
        static const struct {
                const char *url, *place, *credentials;
        } rows[] = {
            {"http://proxy:3128", "proxy 3128", NULL},
            {"HTTP://Proxy.Example.:3128/path?query", "proxy.example 3128", NULL},
            {"proxy.example", "proxy.example 80", NULL},
            {"http://10.0.0.1:8080/", "10.0.0.1 8080", NULL},
            {"http://[2001:DB8::1]:8080", "2001:db8::1 8080", NULL},
            {"http://[::1]", "::1 80", NULL},
            {"http://user@proxy:1", "proxy 1", "dXNlcjo="},
            {"http://user:@proxy:1", "proxy 1", "dXNlcjo="},
            {"http://us%40er:p%3ass@proxy:1", "proxy 1", "dXNAZXI6cDpzcw=="},
            {"http://a:b@c@proxy:1", "proxy 1", "YTpiQGM="}, /* the last @ ends it, as in curl */
        };
        (void)state;
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
                struct network network;
                struct error error;
                assert_true(take(&network, rows[i].url, &error));
                assert_string_equal(network.proxy, rows[i].place);
                if (rows[i].credentials)
                        assert_string_equal(network.proxy_credentials, rows[i].credentials);
                else
                        assert_null(network.proxy_credentials);
                network_free(&network);
        }
}

static void test_refused_urls(void **state)
{
        static const char *const urls[] = {
            "https://proxy",
            "socks5://CANARY@proxy",
            "http://",
            "http://:1",
            "http://proxy:",
            "http://proxy:0",
            "http://proxy:65536",
            "http://proxy:1x",
            "http://[::1",
            "http://[::1]x",
            "http://[proxy]:1",
            "http://CANARY:x@",
            "http://u:CANARY%@p",
            "http://u:CANARY%4@p",
            "http://u:%4gCANARY@p",
            "http://u%3aCANARY:x@p",
            "http://p\r\nCANARY:1",
            "http://p_CANARY /",
            "http://::1:80",
        };
        (void)state;
        for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
                struct network network;
                struct error error;
                assert_false(take(&network, urls[i], &error));
                assert_int_equal(error.status, EXIT_SETUP);
                assert_non_null(strstr(error.text, "HTTPS_PROXY"));
                assert_null(strstr(error.text, "CANARY"));
                network_free(&network);
        }
}

/* The first variable that is set decides, lower case first, and an empty one means no proxy. */
static void test_which_variable(void **state)
{
        struct network network;
        struct error error;
        (void)state;
        assert_true(take(&network, "", &error));
        assert_null(network.proxy);
        setenv("ALL_PROXY", "http://all", 1);
        assert_true(proxy_take(&network, &error));
        assert_null(network.proxy);
        unsetenv("HTTPS_PROXY");
        setenv("NO_PROXY", "a,b", 1);
        assert_true(proxy_take(&network, &error));
        assert_string_equal(network.proxy, "all 80");
        assert_int_equal(network.no_proxy.count, 2);
        network_free(&network);
        setenv("https_proxy", "http://lower", 1);
        setenv("no_proxy", "", 1);
        network = (struct network){0};
        assert_true(proxy_take(&network, &error));
        assert_string_equal(network.proxy, "lower 80");
        assert_int_equal(network.no_proxy.count, 0);
        network_free(&network);
        unsetenv("https_proxy");
        unsetenv("ALL_PROXY");
        network = (struct network){0};
        assert_true(proxy_take(&network, &error));
        assert_null(network.proxy);
}

static void test_long_credentials(void **state)
{
        char url[4096] = "http://u:";
        struct network network;
        struct error error;
        (void)state;
        memset(url + 9, 'p', 1022);
        strcat(url, "@proxy");
        assert_true(take(&network, url, &error));
        assert_int_equal(strlen(network.proxy_credentials), 1368);
        network_free(&network);
        memset(url + 9, 'p', 1023);
        memccpy(url + 9 + 1023, "@proxy", 0, 7);
        assert_false(take(&network, url, &error));
        network_free(&network);
}

static void test_forgotten(void **state)
{
        (void)state;
        setenv("all_proxy", "http://u:CANARY@p", 1);
        setenv("HTTP_PROXY", "http://u:CANARY@p", 1);
        proxy_forget();
        assert_string_equal(getenv("all_proxy"), "");
        assert_string_equal(getenv("HTTP_PROXY"), "");
}

static bool covers(const char *entries, const char *host, uint16_t port)
{
        struct str_list list = {0};
        struct in6_addr address = {0};
        bool literal = address_parse(host, &address);
        no_proxy_split(entries, &list);
        bool covered = no_proxy_covers(&list, literal ? NULL : host, &address, port);
        str_list_free(&list);
        return covered;
}

static void test_no_proxy(void **state)
{
        (void)state;
        assert_true(covers("example.com", "example.com", 443));
        assert_true(covers("example.com", "a.b.example.com", 443));
        assert_true(covers(".example.com", "example.com", 443));
        assert_true(covers("*.example.com", "a.example.com", 443));
        assert_true(covers(" a,, EXAMPLE.com. ,b", "example.com", 443));
        assert_true(covers("*", "anything", 1));
        assert_true(covers("*", "10.0.0.1", 1));
        assert_true(covers("example.com:443", "www.example.com", 443));
        assert_true(covers("10.0.0.1", "10.0.0.1", 1));
        assert_true(covers("10.1.2.3/8", "10.255.0.1", 1));
        assert_true(covers("0.0.0.0/0", "1.2.3.4", 1));
        assert_true(covers("10.0.0.0/8:80", "10.0.0.1", 80));
        assert_true(covers("2001:db8::/32", "2001:db8:1::1", 1));
        assert_true(covers("[2001:db8::1]", "2001:db8::1", 1));
        assert_true(covers("[2001:db8::1]:443", "2001:db8::1", 443));
        assert_true(covers("::/0", "2001:db8::1", 443));

        assert_false(covers("", "example.com", 443));
        assert_false(covers(".", "example.com", 443));
        assert_false(covers("ample.com", "example.com", 443));
        assert_false(covers("www.example.com", "example.com", 443));
        assert_false(covers("example.com:80", "example.com", 443));
        assert_false(covers("example.com:", "example.com", 443));
        assert_false(covers("example.com:443x", "example.com", 443));
        assert_false(covers("*.com.*", "example.com", 443));
        assert_false(covers("10.0.0.0/8", "11.0.0.1", 1));
        assert_false(covers("10.0.0.0/33", "10.0.0.0", 1));
        assert_false(covers("10.0.0.0/", "10.0.0.0", 1));
        assert_false(covers("10.0.0.0/8x", "10.0.0.0", 1));
        assert_false(covers("0.0.0.0/0", "2001:db8::1", 1));
        assert_false(covers("10.0.0.0/8", "ten.example", 1));
        assert_false(covers("[2001:db8::1]:443", "2001:db8::1", 80));
        assert_false(covers("[", "2001:db8::1", 80));
}

static int reply(const char *text)
{
        size_t length = strlen(text), end = http_reply_end((const uint8_t *)text, length);
        return end ? http_reply_status((const uint8_t *)text, end) : 0;
}

static void test_replies(void **state)
{
        (void)state;
        assert_int_equal(reply("HTTP/1.1 200 OK\r\n\r\n"), 200);
        assert_int_equal(reply("HTTP/1.0 200\r\n\r\nSSH-2.0"), 200);
        assert_int_equal(reply("HTTP/1.1 204 \r\nA: b\r\nC:\td e\r\n\r\n"), 204);
        assert_int_equal(reply("HTTP/1.1 407 Proxy Authentication Required\r\nX:\r\n\r\n"), 407);
        assert_int_equal(reply("HTTP/1.1 200 OK\r\nA: b\r\n"), 0);
        static const char *const bad[] = {
            "\r\n\r\n",
            "HTTP/1.1 200OK\r\n\r\n",
            "HTTP/1.2 200 OK\r\n\r\n",
            "HTTP/1.1  200 OK\r\n\r\n",
            "HTTP/1.1 099 OK\r\n\r\n",
            "HTTP/1.1 600 OK\r\n\r\n",
            "HTTP/1.1 20 OK\r\n\r\n",
            "http/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\nA: b\r\n\r\n",
            "HTTP/1.1 200 OK\r\n A: b\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA b\r\n\r\n",
            "HTTP/1.1 200 OK\r\n: b\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA\x7f: b\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: b\x01\r\n\r\n",
        };
        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
                assert_int_equal(reply(bad[i]), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_urls),           cmocka_unit_test(test_refused_urls),
            cmocka_unit_test(test_which_variable), cmocka_unit_test(test_long_credentials),
            cmocka_unit_test(test_forgotten),      cmocka_unit_test(test_no_proxy),
            cmocka_unit_test(test_replies),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
