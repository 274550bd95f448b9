/* SPDX-License-Identifier: Apache-2.0
 *
 * The authority of the first HTTP request: as real clients send it (recorded in tests/fuzz/corpus/http_head),
 * cut everywhere; what two servers could read as two hosts; and other protocols, which are not kept waiting.
 */
#include "unit.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "nat/http_head.h"

static enum sniff look(const char *bytes, size_t length, char name[NAME_MAX_LENGTH + 1], size_t *end)
{
        /* Exactly as large as its content, for the sanitizer. */
        uint8_t *copy = malloc(length + !length);
        assert_non_null(copy);
        memcpy(copy, bytes, length);
        enum sniff state = http_head_name(copy, length, name, end);
        free(copy);
        return state;
}

static void expect_bytes(const char *bytes, size_t length, enum sniff expected, const char *host)
{
        char name[NAME_MAX_LENGTH + 1] = "";
        size_t end = 0;
        enum sniff got = look(bytes, length, name, &end);
        if (got != expected)
                fail_msg("%d, not %d: %s", got, expected, bytes);
        if (expected == SNIFF_NAME)
                assert_string_equal(name, host);
        if (expected == SNIFF_NAME || expected == SNIFF_NO_NAME)
                assert_memory_equal(bytes + end - 4, "\r\n\r\n", 4);
}

static void expect(const char *text, enum sniff expected, const char *host)
{
        expect_bytes(text, strlen(text), expected, host);
}

static void test_real_clients(void **state)
{
        static const struct {
                const char *client, *host;
        } recorded[] = {
            {"bun", "localhost"},    {"curl-post", "a.test"}, {"deno", "localhost"},
            {"git", "a.test"},       {"go", "a.test"},        {"node-fetch", "a.test"},
            {"node-http", "a.test"}, {"node-ws", "a.test"},   {"python-urllib", "a.test"},
        };
        (void)state;
        for (size_t i = 0; i < COUNT(recorded); i++) {
                autofree char *path =
                    str_format("%s/tests/fuzz/corpus/http_head/%s", HUTCH_SOURCE_DIR, recorded[i].client);
                autofree char *bytes = NULL;
                char name[NAME_MAX_LENGTH + 1];
                size_t end;
                ssize_t length = fd_read_file(path, 65536, &bytes);
                assert_true(length > 0);
                size_t head = (size_t)(strstr(bytes, "\r\n\r\n") + 4 - bytes);
                for (size_t part = 0; part < head; part++)
                        if (look(bytes, part, name, &end) != SNIFF_MORE)
                                fail_msg("%s: decided after %zu bytes", recorded[i].client, part);
                for (size_t part = head; part <= (size_t)length; part++) {
                        assert_int_equal(look(bytes, part, name, &end), SNIFF_NAME);
                        assert_string_equal(name, recorded[i].host);
                        assert_int_equal(end, head);
                }
        }
}

static void test_hosts(void **state)
{
        static const struct {
                const char *value, *host; /* NULL: refused */
        } hosts[] = {
            {"a.test", "a.test"},
            {"A.Test", "a.test"},
            {"a.test.", "a.test"},
            {"a.test:80", "a.test"},
            {"a.test.:80", "a.test"},
            {"a.test:", "a.test"},
            {"  a.test\t ", "a.test"},
            {"127.0.0.1:8080", "127.0.0.1"},
            {"[2001:DB8::1]", "2001:db8::1"},
            {"[::1]:80", "::1"},
            {"", NULL},
            {":80", NULL},
            {"a.test:http", NULL},
            {"a.test:80:80", NULL},
            {"a.test,b.test", NULL},
            {"a.test b.test", NULL},
            {"u@a.test", NULL},
            {"a.test/x", NULL},
            {"a.test?x", NULL},
            {"a.test#x", NULL},
            {"a.test\\b.test", NULL},
            {"::1", NULL},
            {"[::1", NULL},
            {"[::1]x", NULL},
            {"[a.test]", NULL},
            {"[fe80::1%25eth0]", NULL},
            {"a..test", NULL},
            {"http://a.test", NULL},
            {"127.1", NULL},
            {"0x7f.1", NULL},
            {"a.t\xc3\xa9st", NULL},
            {"\"a.test\"", NULL},
            {"a.test\x0b", NULL},
        };
        (void)state;
        for (size_t i = 0; i < COUNT(hosts); i++) {
                autofree char *head =
                    str_format("GET / HTTP/1.1\r\nAccept: */*\r\nHost:%s\r\nX: y\r\n\r\n", hosts[i].value);
                expect(head, hosts[i].host ? SNIFF_NAME : SNIFF_BAD, hosts[i].host);
        }
}

static void test_targets(void **state)
{
        (void)state;
        expect("GET http://a.test/x HTTP/1.1\r\nHost: a.test\r\n\r\n", SNIFF_NAME, "a.test");
        expect("GET HTTP://A.test:80 HTTP/1.1\r\nHost: a.test\r\n\r\n", SNIFF_NAME, "a.test");
        expect("GET https://a.test?x HTTP/1.1\r\nHost: a.test:443\r\n\r\n", SNIFF_NAME, "a.test");
        expect("GET http://a.test/ HTTP/1.0\r\n\r\n", SNIFF_NAME, "a.test");
        expect("OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n", SNIFF_NAME, "a.test");
        expect("GET /x?u=http://b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", SNIFF_NAME, "a.test");
        expect("GET //b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", SNIFF_NAME, "a.test");
        expect("GET / HTTP/1.0\r\n\r\n", SNIFF_NO_NAME, NULL);
        expect("GET / HTTP/1.1\r\nAccept: */*\r\n\r\n", SNIFF_NO_NAME, NULL);

        static const char *const bad[] = {
            "GET http://b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "GET http://a.test@b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "GET http://a.test\\@b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "GET http:///a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "GET http:a.test HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "GET ftp://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "GET a.test HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n",
            "connect a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n",
            "GET http://b.test/\r\n", /* HTTP/0.9 */
        };
        for (size_t i = 0; i < COUNT(bad); i++)
                expect(bad[i], SNIFF_BAD, NULL);
}

/* What servers are known to forgive, each in its own way. */
static void test_ambiguous(void **state)
{
        static const char *const bad[] = {
            "GET / HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.test\r\nHOST: a.test\r\n\r\n",
            "GET / HTTP/1.1\r\nHost : a.test\r\n\r\n",
            "GET / HTTP/1.1\r\nHost\t: b.test\r\nHost: a.test\r\n\r\n",
            "GET / HTTP/1.1\r\n Host: b.test\r\nHost: a.test\r\n\r\n",
            "GET / HTTP/1.1\r\nX: y\r\n z\r\nHost: a.test\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.test\r\n .b.test\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.test\r\n\t\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.test\r\nno field\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.test\r\n: x\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.test\rHost: b.test\r\n\r\n",
            "GET / HTTP/1.1\r\nX: y\nHost: b.test\r\nHost: a.test\r\n\r\n",
            "GET / HTTP/1.1\nHost: a.test\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.test\n\n",
            "GET / HTTP/1.1\r\nHost: a.test\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.test\r\n\n",
            "GET / HTTP/1.1\r\nHost: b.test\n\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.test\r\r\n\r\n",
            "\r\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "\n\n\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "GET  / HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "GET /  HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "GET / HTTP/1.1 \r\nHost: a.test\r\n\r\n",
            "GET\t/\tHTTP/1.1\r\nHost: a.test\r\n\r\n",
            "GET\x0b/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "GET /a b HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "GET / HTTP/1.2\r\nHost: a.test\r\n\r\n",
            "GET / HTTP/2.0\r\nHost: a.test\r\n\r\n",
            "GET / HTTP/01.1\r\nHost: a.test\r\n\r\n",
            "GET / HTTP/1.1x\r\nHost: a.test\r\n\r\n",
            " GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "GET HTTP/1.1\r\nHost: a.test\r\n\r\n",
        };
        (void)state;
        for (size_t i = 0; i < COUNT(bad); i++)
                expect(bad[i], SNIFF_BAD, NULL);
        static const char nul[] = "GET / HTTP/1.1\r\nHost: a.test\0.b.test\r\n\r\n";
        expect_bytes(nul, sizeof(nul) - 1, SNIFF_BAD, NULL);
        static const char nul_target[] = "GET http://a.test\0/ HTTP/1.1\r\nHost: a.test\r\n\r\n";
        expect_bytes(nul_target, sizeof(nul_target) - 1, SNIFF_BAD, NULL);
}

/* The length of a body says nothing about the host: it is the servers' own to judge. */
static void test_bodies_pass(void **state)
{
        (void)state;
        expect("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nTransfer-Encoding: "
               "chunked\r\n\r\n0\r\n\r\n",
               SNIFF_NAME, "a.test");
        expect("PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 28\r\n\r\nGET / HTTP/1.1\r\nHost: "
               "b.test\r\n\r\n",
               SNIFF_NAME, "a.test");
}

/* HTTP/2 without TLS has a host of its own in every request. An upgrade to anything else passes. */
static void test_upgrades(void **state)
{
        (void)state;
        expect("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", SNIFF_BAD, NULL);
        expect("GET / HTTP/1.1\r\nHost: a.test\r\nUpgrade: h2c\r\n\r\n", SNIFF_BAD, NULL);
        expect("GET / HTTP/1.1\r\nHost: a.test\r\nUPGRADE: websocket, H2C\r\n\r\n", SNIFF_BAD, NULL);
        expect("GET / HTTP/1.1\r\nHost: a.test\r\nHTTP2-Settings: AAMA\r\n\r\n", SNIFF_BAD, NULL);
        expect("GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
               SNIFF_NAME, "a.test");
        expect("GET / HTTP/1.1\r\nHost: a.test\r\nX: Upgrade: h2c\r\n\r\n", SNIFF_NAME, "a.test");
}

/* Any method is one, since servers take any: but it is waited for only where HTTP is likely. */
static void test_methods(void **state)
{
        static const char *const methods[] = {
            "GET", "get", "Get", "M", "M-SEARCH", "PROPFIND", "x!#$%&'*+.^_`|~9"};
        (void)state;
        for (size_t i = 0; i < COUNT(methods); i++) {
                autofree char *good = str_format("%s / HTTP/1.1\r\nHost: a.test\r\n\r\n", methods[i]);
                autofree char *bad =
                    str_format("%s / HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n", methods[i]);
                autofree char *begun = str_format("%s /", methods[i]);
                expect(good, SNIFF_NAME, "a.test");
                expect(bad, SNIFF_BAD, NULL);
                expect(begun, SNIFF_MORE, NULL);
        }
        expect("get htt", SNIFF_MORE, NULL);
        expect("\r\n\r\n", SNIFF_MORE, NULL);
        expect("G", SNIFF_MORE, NULL);
        expect("GET", SNIFF_MORE, NULL);
        expect("GET x", SNIFF_MORE, NULL);
}

/* What is no HTTP is let go with the bytes that tell. */
static void test_other_protocols(void **state)
{
        static const char *const others[] = {
            "ping",
            "hello world",
            "PING\r\n",
            "EHLO client.test\r\n",
            "NICK me\r\n",
            "SSH-2.0-OpenSSH_9.2\r\n",
            "SSH-2",
            "*1\r\n$4\r\nPING\r\n",
            "+OK",
            "get /key\r\n", /* memcached */
            "get http://b.test/\r\n",
            "OPTIONS rtsp://a.test/ RTSP/1.0\r\n",
            "INVITE sip:a.test SIP/2.0\r\n",
            "CONNECT\naccept-version:1.2\n\n", /* STOMP */
            "<?xml version='1.0'?><stream:stream to='a.test'>",
            "{\"jsonrpc\":\"2.0\"}",
            "GET /\r\n", /* HTTP/0.9, without a host */
            "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            "AB\x01",
            "GET \x01\x02",
            "\x80\x01",
        };
        (void)state;
        for (size_t i = 0; i < COUNT(others); i++)
                expect(others[i], SNIFF_OTHER, NULL);
        expect_bytes("0032git-upload-pack /x\0host=a.test", 34, SNIFF_OTHER, NULL);
        expect_bytes("AMQP\0\0\11\1", 8, SNIFF_OTHER, NULL);
        expect_bytes("\0\0\0\10\4\322\26\57", 8, SNIFF_OTHER, NULL); /* PostgreSQL */
}

static void test_endless(void **state)
{
        static char head[HTTP_HEAD_MAX + 8] = "GET / HTTP/1.1\r\nHost: a.test\r\nX: ";
        size_t begun = strlen(head);
        (void)state;
        memset(head + begun, 'x', sizeof(head) - begun);
        expect_bytes(head, HTTP_HEAD_MAX - 1, SNIFF_MORE, NULL);
        expect_bytes(head, HTTP_HEAD_MAX, SNIFF_BAD, NULL);
        memcpy(head + HTTP_HEAD_MAX - 4, "\r\n\r\n", 4);
        expect_bytes(head, HTTP_HEAD_MAX, SNIFF_NAME, "a.test");
        memset(head + HTTP_HEAD_MAX - 4, 'x', 4);
        memcpy(head + HTTP_HEAD_MAX - 3, "\r\n\r\n", 4);
        expect_bytes(head, HTTP_HEAD_MAX + 1, SNIFF_BAD, NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_real_clients), cmocka_unit_test(test_hosts),
            cmocka_unit_test(test_targets),      cmocka_unit_test(test_ambiguous),
            cmocka_unit_test(test_bodies_pass),  cmocka_unit_test(test_upgrades),
            cmocka_unit_test(test_methods),      cmocka_unit_test(test_other_protocols),
            cmocka_unit_test(test_endless),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
