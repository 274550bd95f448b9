/* SPDX-License-Identifier: Apache-2.0
 *
 * Judging flows: what a rule covers and what it does not, deny over allow, where a name may lead, and what a
 * refusal suggests.
 */
#include "unit.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "policy/addresses.h"
#include "policy/rules.h"

#include <stdio.h>

static struct rules make(const char *allow, const char *deny)
{
        struct rules rules = {0};
        struct error error = {0};
        if (allow && !destinations_add(&rules.allow, DESTINATION_ALLOW, allow, &error))
                fail_msg("%s", error.text);
        if (deny && !destinations_add(&rules.deny, DESTINATION_DENY, deny, &error))
                fail_msg("%s", error.text);
        return rules;
}

static void drop(struct rules *rules)
{
        destinations_free(&rules->allow);
        destinations_free(&rules->deny);
}

static void expect_name(const char *allow, const char *deny, const char *name, uint16_t port,
                        enum transport transport, enum verdict expected)
{
        struct rules rules = make(allow, deny);
        enum verdict got = rules_judge_name(&rules, name, port, transport);
        if (got != expected)
                fail_msg("allow %s, deny %s: %s:%u gives %d, not %d", allow, deny ? deny : "-", name, port,
                         got, expected);
        drop(&rules);
}

static void expect_cover(const char *allow, const char *deny, const char *name, bool expected)
{
        struct rules rules = make(allow, deny);
        if (rules_cover_name(&rules, name) != expected)
                fail_msg("allow %s, deny %s: %s is%s covered", allow, deny ? deny : "-", name,
                         expected ? " not" : "");
        drop(&rules);
}

static void expect_address(const char *allow, const char *deny, const char *name, const char *text,
                           enum verdict expected)
{
        struct rules rules = make(allow, deny);
        struct in6_addr address;
        assert_true(address_parse(text, &address));
        enum verdict got = rules_judge_address(&rules, name, &address, 443, TRANSPORT_TCP);
        if (got != expected)
                fail_msg("allow %s, deny %s: %s at %s gives %d, not %d", allow ? allow : "-",
                         deny ? deny : "-", name ? name : "a literal", text, got, expected);
        drop(&rules);
}

/* ---- names ---- */

static void test_what_an_entry_covers(void **state)
{
        static const char *const names[] = {"allowed.test",
                                            "www.allowed.test",
                                            "a.b.allowed.test",
                                            "xallowed.test",
                                            "allowed.test.evil.test",
                                            "notallowed.test",
                                            "test",
                                            "llowed.test",
                                            "allowed.tes",
                                            "allowed-test",
                                            "allowed.testx",
                                            "www-allowed.test"};
        (void)state;
        for (size_t i = 0; i < COUNT(names); i++) {
                bool itself = i == 0, below = i == 1 || i == 2;
                expect_cover("allowed.test", NULL, names[i], itself);
                expect_cover("ALLOWED.Test.", NULL, names[i], itself);
                expect_cover("*.allowed.test", NULL, names[i], below);
                expect_cover("allowed.test,*.allowed.test", NULL, names[i], itself || below);
                expect_cover("public", NULL, names[i], strchr(names[i], '.') != NULL);
                expect_name("allowed.test", NULL, names[i], 443, TRANSPORT_TCP,
                            itself ? VERDICT_ALLOWED : VERDICT_NO_RULE);
                expect_name("*.allowed.test", NULL, names[i], 80, TRANSPORT_TCP,
                            below ? VERDICT_ALLOWED : VERDICT_NO_RULE);
        }
}

static void test_names_that_no_rule_covers(void **state)
{
        static const char *const names[] = {
            "",         ".",        "localhost", "x.localhost", "a.test.",      "A.test", "a b.test",
            "*.a.test", "..a.test", ".a.test",   "1.2.3.4",     "a\x01.a.test", "a.1"};
        (void)state;
        for (size_t i = 0; i < COUNT(names); i++)
                expect_cover("public,*.a.test,10.0.0.0/8,1.2.3.4,localhost:80", NULL, names[i], false);
        expect_cover("intranet", NULL, "intranet", true);
}

static void test_depth(void **state)
{
        (void)state;
        for (int depth = 1; depth <= 120; depth++) {
                autofree char *name = str_copy("allowed.test");
                for (int i = 0; i < depth; i++) {
                        char *longer = str_format("a.%s", name);
                        free(name);
                        name = longer;
                }
                expect_cover("*.allowed.test", NULL, name, true);
                expect_cover("allowed.test", NULL, name, false);
        }
}

static void test_ports_and_transports(void **state)
{
        static const struct {
                const char *allow;
                uint16_t port;
                enum transport transport;
                enum verdict expected;
        } cases[] = {
            {"a.test", 443, TRANSPORT_TCP, VERDICT_ALLOWED},
            {"a.test", 80, TRANSPORT_TCP, VERDICT_ALLOWED},
            {"a.test", 81, TRANSPORT_TCP, VERDICT_PORT},
            {"a.test", 443, TRANSPORT_UDP, VERDICT_PORT},
            {"a.test:22", 22, TRANSPORT_TCP, VERDICT_ALLOWED},
            {"a.test:22", 443, TRANSPORT_TCP, VERDICT_PORT},
            {"a.test:8-9", 8, TRANSPORT_TCP, VERDICT_ALLOWED},
            {"a.test:8-9", 9, TRANSPORT_TCP, VERDICT_ALLOWED},
            {"a.test:8-9", 7, TRANSPORT_TCP, VERDICT_PORT},
            {"a.test:8-9", 10, TRANSPORT_TCP, VERDICT_PORT},
            {"a.test:*", 1, TRANSPORT_TCP, VERDICT_ALLOWED},
            {"a.test:*", 65535, TRANSPORT_TCP, VERDICT_ALLOWED},
            {"a.test:*", 0, TRANSPORT_TCP, VERDICT_PORT},
            {"a.test:*", 53, TRANSPORT_UDP, VERDICT_PORT},
            {"a.test:53/udp", 53, TRANSPORT_UDP, VERDICT_ALLOWED},
            {"a.test:53/udp", 53, TRANSPORT_TCP, VERDICT_PORT},
            {"a.test/udp", 443, TRANSPORT_UDP, VERDICT_ALLOWED},
            {"a.test:1,a.test:2", 2, TRANSPORT_TCP, VERDICT_ALLOWED},
            {"public:1", 1, TRANSPORT_TCP, VERDICT_ALLOWED},
            {"public:1", 443, TRANSPORT_TCP, VERDICT_PORT},
        };
        (void)state;
        for (size_t i = 0; i < COUNT(cases); i++)
                expect_name(cases[i].allow, NULL, "a.test", cases[i].port, cases[i].transport,
                            cases[i].expected);
}

static void test_deny_wins(void **state)
{
        (void)state;
        expect_name("a.test", "a.test", "a.test", 443, TRANSPORT_TCP, VERDICT_DENIED);
        expect_name("a.test:443", "*.test.example,a.test", "a.test", 443, TRANSPORT_TCP, VERDICT_DENIED);
        expect_name("*.a.test,b.a.test", "b.a.test", "b.a.test", 443, TRANSPORT_TCP, VERDICT_DENIED);
        expect_name("*.a.test", "b.a.test", "c.b.a.test", 443, TRANSPORT_TCP, VERDICT_ALLOWED);
        expect_name("public", "*.a.test", "b.a.test", 443, TRANSPORT_TCP, VERDICT_DENIED);
        expect_name("public", "*.a.test", "a.test", 443, TRANSPORT_TCP, VERDICT_ALLOWED);
        expect_name("a.test", "public", "a.test", 443, TRANSPORT_TCP, VERDICT_DENIED);
        /* On its ports; without any, on all and by both transports. */
        expect_name("a.test", "a.test:80", "a.test", 443, TRANSPORT_TCP, VERDICT_ALLOWED);
        expect_name("a.test", "a.test:80", "a.test", 80, TRANSPORT_TCP, VERDICT_DENIED);
        expect_name("a.test:5/udp", "a.test", "a.test", 5, TRANSPORT_UDP, VERDICT_DENIED);
        expect_name("a.test:5/udp,a.test:5", "a.test:5/udp", "a.test", 5, TRANSPORT_TCP, VERDICT_ALLOWED);
        expect_name("a.test:5/udp,a.test:5", "a.test:5", "a.test", 5, TRANSPORT_UDP, VERDICT_DENIED);
        expect_cover("a.test", "a.test", "a.test", false);
        expect_cover("*.a.test", "b.a.test", "b.a.test", false);
        expect_cover("a.test", "a.test:80", "a.test", true);
}

/* ---- addresses ---- */

static void test_where_a_name_may_lead(void **state)
{
        static const struct {
                const char *address;
                enum verdict plain, private_too;
        } cases[] = {
            {"203.0.113.1", VERDICT_ALLOWED, VERDICT_ALLOWED},
            {"2001:db8::1", VERDICT_ALLOWED, VERDICT_ALLOWED},
            {"10.0.0.1", VERDICT_SPECIAL, VERDICT_ALLOWED},
            {"172.16.0.1", VERDICT_SPECIAL, VERDICT_ALLOWED},
            {"192.168.1.1", VERDICT_SPECIAL, VERDICT_ALLOWED},
            {"100.64.0.1", VERDICT_SPECIAL, VERDICT_ALLOWED},
            {"fd00::1", VERDICT_SPECIAL, VERDICT_ALLOWED},
            {"::ffff:10.0.0.1", VERDICT_SPECIAL, VERDICT_ALLOWED},
            {"64:ff9b::10.0.0.1", VERDICT_SPECIAL, VERDICT_ALLOWED},
            {"169.254.1.1", VERDICT_SPECIAL, VERDICT_SPECIAL},
            {"fe80::1", VERDICT_SPECIAL, VERDICT_SPECIAL},
            {"169.254.169.254", VERDICT_METADATA, VERDICT_METADATA},
            {"fd00:ec2::254", VERDICT_METADATA, VERDICT_METADATA},
            {"64:ff9b::169.254.169.254", VERDICT_METADATA, VERDICT_METADATA},
            {"2002:a9fe:a9fe::", VERDICT_METADATA, VERDICT_METADATA},
            {"127.0.0.1", VERDICT_RESERVED, VERDICT_RESERVED},
            {"::1", VERDICT_RESERVED, VERDICT_RESERVED},
            {"0.0.0.0", VERDICT_RESERVED, VERDICT_RESERVED},
            {"224.0.0.1", VERDICT_RESERVED, VERDICT_RESERVED},
            {"198.18.1.0", VERDICT_RESERVED, VERDICT_RESERVED},
            {"64:ff9b::127.0.0.1", VERDICT_RESERVED, VERDICT_RESERVED},
            {"2002:7f00:1::", VERDICT_RESERVED, VERDICT_RESERVED},
        };
        (void)state;
        for (size_t i = 0; i < COUNT(cases); i++) {
                expect_address("a.test", NULL, "a.test", cases[i].address, cases[i].plain);
                expect_address("public", NULL, "a.test", cases[i].address, cases[i].plain);
                expect_address("a.test/private", NULL, "a.test", cases[i].address, cases[i].private_too);
                /* /private is this rule's alone, on its own ports. */
                expect_address("a.test,b.test/private,a.test:80/private", NULL, "a.test", cases[i].address,
                               cases[i].plain);
        }
        /* A literal rule permits what a name leads to. */
        expect_address("a.test,10.0.0.0/8", NULL, "a.test", "10.1.2.3", VERDICT_ALLOWED);
        expect_address("a.test,10.0.0.0/8:80", NULL, "a.test", "10.1.2.3", VERDICT_SPECIAL);
        expect_address("a.test,169.254.169.254", NULL, "a.test", "169.254.169.254", VERDICT_ALLOWED);
        expect_address("a.test/private,169.254.0.0/16", NULL, "a.test", "169.254.169.254", VERDICT_METADATA);
}

static void test_literal_addresses(void **state)
{
        (void)state;
        expect_address("203.0.113.0/24", NULL, NULL, "203.0.113.255", VERDICT_ALLOWED);
        expect_address("203.0.113.0/24", NULL, NULL, "203.0.114.0", VERDICT_NO_RULE);
        expect_address("203.0.113.1:80", NULL, NULL, "203.0.113.1", VERDICT_PORT);
        expect_address("10.0.0.0/8", NULL, NULL, "10.1.2.3", VERDICT_ALLOWED);
        expect_address("10.0.0.0/8", NULL, NULL, "::ffff:10.1.2.3", VERDICT_ALLOWED);
        expect_address("10.0.0.0/8", NULL, NULL, "64:ff9b::10.1.2.3", VERDICT_NO_RULE);
        expect_address("::ffff:10.0.0.0/104", NULL, NULL, "10.1.2.3", VERDICT_ALLOWED);
        expect_address("fd00::/8", NULL, NULL, "fd01::1", VERDICT_ALLOWED);
        expect_address("fd00::/8", NULL, NULL, "fd68:7574:6368::1", VERDICT_RESERVED);
        expect_address("fe80::/10", NULL, NULL, "fe80::1", VERDICT_ALLOWED);
        expect_address("2001:db8::/32", NULL, NULL, "2001:db8:1::1", VERDICT_ALLOWED);
        expect_address("public", NULL, NULL, "203.0.113.1", VERDICT_ALLOWED);
        expect_address("public", NULL, NULL, "10.0.0.1", VERDICT_NO_RULE);
        expect_address("public", NULL, NULL, "169.254.169.254", VERDICT_METADATA);
        expect_address("public", NULL, NULL, "127.0.0.1", VERDICT_RESERVED);
        expect_address("a.test", NULL, NULL, "203.0.113.1", VERDICT_NO_RULE);
        expect_address("169.254.169.254", NULL, NULL, "169.254.169.254", VERDICT_ALLOWED);
        expect_address("169.254.169.254:80", NULL, NULL, "169.254.169.254", VERDICT_PORT);
        expect_address("169.254.0.0/16", NULL, NULL, "169.254.169.254", VERDICT_METADATA);
        expect_address("169.254.0.0/16", NULL, NULL, "169.254.169.253", VERDICT_ALLOWED);
        expect_address("[fd00:ec2::254]", NULL, NULL, "fd00:ec2::254", VERDICT_ALLOWED);
        expect_address("fd00::/8", NULL, NULL, "fd00:ec2::254", VERDICT_METADATA);
        expect_address(NULL, NULL, NULL, "203.0.113.1", VERDICT_NO_RULE);
}

static void test_denied_addresses(void **state)
{
        (void)state;
        expect_address("public", "203.0.113.0/24", NULL, "203.0.113.9", VERDICT_DENIED);
        expect_address("public", "203.0.113.0/24:80", NULL, "203.0.113.9", VERDICT_ALLOWED);
        expect_address("203.0.113.9", "203.0.113.0/24", NULL, "203.0.113.9", VERDICT_DENIED);
        expect_address("a.test", "203.0.113.0/24", "a.test", "203.0.113.9", VERDICT_DENIED);
        expect_address("203.0.113.9", "public", NULL, "203.0.113.9", VERDICT_DENIED);
        expect_address("10.0.0.1", "public", NULL, "10.0.0.1", VERDICT_ALLOWED);
        expect_address("169.254.169.254", "169.254.0.0/16", NULL, "169.254.169.254", VERDICT_DENIED);
        /* Not by a gateway that takes an IPv4 address out of an IPv6 one. */
        expect_address("public", "203.0.113.0/24", NULL, "64:ff9b::203.0.113.9", VERDICT_DENIED);
        expect_address("public", "203.0.113.0/24", "a.test", "2002:cb00:7109::1", VERDICT_DENIED);
        expect_address("public", "203.0.113.0/24", NULL, "2606:4700::5efe:203.0.113.9", VERDICT_DENIED);
        expect_address("public", "203.0.113.0/24", NULL, "64:ff9b::203.0.114.9", VERDICT_ALLOWED);
}

static void test_addresses_of_the_host(void **state)
{
        static const struct {
                const char *allow;
                bool named;
        } cases[] = {{"203.0.113.1", true}, {"203.0.113.0/24", false}, {"203.0.113.1/32", true},
                     {"public", false},     {"203.0.113.1:80", false}, {"203.0.113.1/udp", false},
                     {"203.0.113.2", false}};
        struct in6_addr address;
        (void)state;
        assert_true(address_parse("203.0.113.1", &address));
        for (size_t i = 0; i < COUNT(cases); i++) {
                struct rules rules = make(cases[i].allow, NULL);
                assert_int_equal(rules_name_address(&rules, &address, 443, TRANSPORT_TCP), cases[i].named);
                drop(&rules);
        }
}

/* ---- words for the person ---- */

static void expect_suggestion(const char *allow, const char *name, const char *address, uint16_t port,
                              enum transport transport, const char *expected)
{
        struct rules rules = make(allow, NULL);
        struct in6_addr parsed = {0};
        if (address)
                assert_true(address_parse(address, &parsed));
        autofree char *got = rules_suggest(&rules, name, address ? &parsed : NULL, port, transport);
        assert_string_equal(got, expected);
        drop(&rules);
}

static void test_suggestions(void **state)
{
        (void)state;
        expect_suggestion("x.test", "b.example", NULL, 443, TRANSPORT_TCP, "b.example");
        expect_suggestion("x.test", "b.example", NULL, 80, TRANSPORT_TCP, "b.example");
        expect_suggestion("x.test", "b.example", NULL, 22, TRANSPORT_TCP, "b.example:22");
        expect_suggestion("x.test", "b.example", NULL, 443, TRANSPORT_UDP, "b.example:443/udp");
        expect_suggestion("x.test", NULL, "203.0.113.1", 443, TRANSPORT_TCP, "203.0.113.1");
        expect_suggestion("x.test", NULL, "203.0.113.1", 53, TRANSPORT_UDP, "203.0.113.1:53/udp");
        expect_suggestion("x.test", NULL, "2001:db8::1", 22, TRANSPORT_TCP, "[2001:db8::1]:22");
        expect_suggestion("x.test", NULL, "2001:db8::1", 80, TRANSPORT_TCP, "[2001:db8::1]");
        expect_suggestion("*.allowed.test", "allowed.test", NULL, 443, TRANSPORT_TCP,
                          "allowed.test (*.allowed.test does not cover allowed.test itself)");
        expect_suggestion(
            "allowed.test", "www.allowed.test", NULL, 443, TRANSPORT_TCP,
            "www.allowed.test (allowed.test covers that name alone; *.allowed.test covers what is below it)");
        expect_suggestion("www.allowed.test", "allowed.test", NULL, 443, TRANSPORT_TCP,
                          "allowed.test (www.allowed.test covers that name alone, not allowed.test)");
        expect_suggestion("api.example.com", "apl.example.com", NULL, 443, TRANSPORT_TCP,
                          "apl.example.com (api.example.com is allowed: is one of them misspelled?)");
}

/* What is suggested is a destination that permits the flow. */
static void test_suggestions_help(void **state)
{
        static const struct {
                const char *name, *address;
                uint16_t port;
                enum transport transport;
        } flows[] = {
            {"a.test", "203.0.113.1", 443, TRANSPORT_TCP}, {"a.test", "203.0.113.1", 8443, TRANSPORT_UDP},
            {NULL, "10.0.0.1", 22, TRANSPORT_TCP},         {NULL, "fd00::1", 53, TRANSPORT_UDP},
            {NULL, "2001:db8::1", 80, TRANSPORT_TCP},      {NULL, "fe80::1", 80, TRANSPORT_UDP}};
        (void)state;
        for (size_t i = 0; i < COUNT(flows); i++) {
                struct rules none = {0};
                struct in6_addr address;
                assert_true(address_parse(flows[i].address, &address));
                autofree char *text =
                    rules_suggest(&none, flows[i].name, &address, flows[i].port, flows[i].transport);
                struct rules rules = make(text, NULL);
                if (flows[i].name)
                        assert_int_equal(
                            rules_judge_name(&rules, flows[i].name, flows[i].port, flows[i].transport),
                            VERDICT_ALLOWED);
                else
                        assert_int_equal(
                            rules_judge_address(&rules, NULL, &address, flows[i].port, flows[i].transport),
                            VERDICT_ALLOWED);
                drop(&rules);
        }
}

/* ---- ports to listen on ---- */

static void test_ports(void **state)
{
        uint16_t ports[8] = {0};
        struct rules rules = make(
            "a.test,b.test:22,c.test:80-82,d.test:53/udp,10.0.0.0/8:22,localhost:9,public", "a.test:443");
        (void)state;
        assert_int_equal(rules_ports(&rules, TRANSPORT_TCP, ports, COUNT(ports)), 5);
        assert_memory_equal(ports, ((uint16_t[]){22, 80, 81, 82, 443}), 5 * sizeof(*ports));
        assert_int_equal(rules_ports(&rules, TRANSPORT_UDP, ports, COUNT(ports)), 1);
        assert_int_equal(ports[0], 53);
        drop(&rules);
        rules = make("a.test:*", NULL);
        assert_int_equal(rules_ports(&rules, TRANSPORT_TCP, ports, COUNT(ports)), 65535);
        assert_int_equal(ports[7], 8);
        assert_int_equal(rules_ports(&rules, TRANSPORT_TCP, NULL, 0), 65535);
        drop(&rules);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_what_an_entry_covers),
            cmocka_unit_test(test_names_that_no_rule_covers),
            cmocka_unit_test(test_depth),
            cmocka_unit_test(test_ports_and_transports),
            cmocka_unit_test(test_deny_wins),
            cmocka_unit_test(test_where_a_name_may_lead),
            cmocka_unit_test(test_literal_addresses),
            cmocka_unit_test(test_denied_addresses),
            cmocka_unit_test(test_addresses_of_the_host),
            cmocka_unit_test(test_suggestions),
            cmocka_unit_test(test_suggestions_help),
            cmocka_unit_test(test_ports),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
