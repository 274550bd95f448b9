/* SPDX-License-Identifier: Apache-2.0
 *
 * What kind of address each special-purpose range holds: its first and last address, and the neighbours of
 * both.
 */
#include "unit.h"

#include "policy/addresses.h"

#include <stdio.h>

static struct in6_addr parse(const char *text)
{
        struct in6_addr address;
        if (!address_parse(text, &address))
                fail_msg("%s is no address", text);
        return address;
}

static void expect(const char *text, enum address_class class_)
{
        struct in6_addr address = parse(text);
        enum address_class got = address_classify(&address);
        if (got != class_)
                fail_msg("%s is of class %d, not %d", text, got, class_);
}

static void test_every_range_of_ipv4(void **state)
{
        static const struct {
                const char *before, *first, *last, *after; /* the neighbours are public unless NULL */
                enum address_class class_;
        } ranges[] = {
            {NULL, "0.0.0.0", "0.255.255.255", "1.0.0.0", ADDRESS_RESERVED},
            {"9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0", ADDRESS_PRIVATE},
            {"100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0", ADDRESS_PRIVATE},
            {"126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0", ADDRESS_RESERVED},
            {"169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0", ADDRESS_LINK_LOCAL},
            {"172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0", ADDRESS_PRIVATE},
            {"191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0", ADDRESS_RESERVED},
            {"192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0", ADDRESS_PUBLIC},
            {"192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0", ADDRESS_RESERVED},
            {"192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0", ADDRESS_PRIVATE},
            {"198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0", ADDRESS_RESERVED},
            {"198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0", ADDRESS_PUBLIC},
            {"203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0", ADDRESS_PUBLIC},
            {"223.255.255.255", "224.0.0.0", "239.255.255.255", NULL, ADDRESS_RESERVED},
            {NULL, "240.0.0.0", "255.255.255.255", NULL, ADDRESS_RESERVED},
        };
        (void)state;
        for (size_t i = 0; i < COUNT(ranges); i++) {
                expect(ranges[i].first, ranges[i].class_);
                expect(ranges[i].last, ranges[i].class_);
                if (ranges[i].before)
                        expect(ranges[i].before, ADDRESS_PUBLIC);
                if (ranges[i].after)
                        expect(ranges[i].after, ADDRESS_PUBLIC);
        }
}

static void test_every_range_of_ipv6(void **state)
{
        static const struct {
                const char *text;
                enum address_class class_;
        } addresses[] = {
            {"::", ADDRESS_RESERVED},
            {"::1", ADDRESS_RESERVED},
            {"::8.8.8.8", ADDRESS_RESERVED},        /* IPv4-compatible */
            {"::ffff:0:8.8.8.8", ADDRESS_RESERVED}, /* IPv4-translated */
            {"100::", ADDRESS_RESERVED},
            {"100::ffff:ffff:ffff:ffff", ADDRESS_RESERVED},
            {"200::", ADDRESS_RESERVED},
            {"1fff:ffff::", ADDRESS_RESERVED},
            {"2000::", ADDRESS_PUBLIC},
            {"2000:ffff::", ADDRESS_PUBLIC},
            {"2001::", ADDRESS_RESERVED}, /* Teredo */
            {"2001:0:4136:e378:8000:63bf:3fff:fdd2", ADDRESS_RESERVED},
            {"2001:2::1", ADDRESS_RESERVED},  /* benchmarks */
            {"2001:10::1", ADDRESS_RESERVED}, /* ORCHID */
            {"2001:20::1", ADDRESS_RESERVED},
            {"2001:1ff:ffff::", ADDRESS_RESERVED},
            {"2001:200::", ADDRESS_PUBLIC},
            {"2001:db8::1", ADDRESS_PUBLIC}, /* documentation */
            {"2606:4700::1111", ADDRESS_PUBLIC},
            {"3fff::1", ADDRESS_PUBLIC},
            {"3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_PUBLIC},
            {"4000::", ADDRESS_RESERVED},
            {"5f00::1", ADDRESS_PRIVATE},
            {"5f01::1", ADDRESS_RESERVED},
            {"fbff::", ADDRESS_RESERVED},
            {"fc00::", ADDRESS_PRIVATE},
            {"fd00::1", ADDRESS_PRIVATE},
            {"fdff:ffff::1", ADDRESS_PRIVATE},
            {"fd68:7574:6368::1", ADDRESS_RESERVED}, /* hutch's own */
            {"fd68:7574:6368:ffff::", ADDRESS_RESERVED},
            {"fd68:7574:6369::", ADDRESS_PRIVATE},
            {"fe00::", ADDRESS_RESERVED},
            {"fe80::1", ADDRESS_LINK_LOCAL},
            {"febf::1", ADDRESS_LINK_LOCAL},
            {"fec0::1", ADDRESS_PRIVATE},
            {"feff::1", ADDRESS_PRIVATE},
            {"ff00::", ADDRESS_RESERVED},
            {"ff02::1", ADDRESS_RESERVED},
            {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_RESERVED},
        };
        (void)state;
        for (size_t i = 0; i < COUNT(addresses); i++)
                expect(addresses[i].text, addresses[i].class_);
}

static void test_metadata_services(void **state)
{
        static const char *const services[] = {
            "169.254.169.254", "169.254.170.2",   "169.254.170.23",  "169.254.0.23",  "169.254.42.42",
            "168.63.129.16",   "100.100.100.200", "192.0.0.192",     "fd00:ec2::254", "fd00:ec2::23",
            "fd20:ce::254",    "fd00:42::42",     "fe80::a9fe:a9fe",
        };
        (void)state;
        for (size_t i = 0; i < COUNT(services); i++)
                expect(services[i], ADDRESS_METADATA);
        expect("169.254.169.253", ADDRESS_LINK_LOCAL);
        expect("fd00:ec2::253", ADDRESS_PRIVATE);
        expect("168.63.129.17", ADDRESS_PUBLIC);
}

/* Every form in which an IPv6 address carries an IPv4 one is at least as bad as what it carries. */
static void test_addresses_that_carry_another(void **state)
{
        static const struct {
                const char *inner, *inner_hex; /* of 6to4 */
                enum address_class class_;
        } inner[] = {
            {"127.0.0.1", "7f00:1", ADDRESS_RESERVED},
            {"10.1.2.3", "a01:203", ADDRESS_PRIVATE},
            {"192.168.0.1", "c0a8:1", ADDRESS_PRIVATE},
            {"100.64.0.1", "6440:1", ADDRESS_PRIVATE},
            {"169.254.1.1", "a9fe:101", ADDRESS_LINK_LOCAL},
            {"169.254.169.254", "a9fe:a9fe", ADDRESS_METADATA},
            {"168.63.129.16", "a83f:8110", ADDRESS_METADATA},
            {"0.0.0.0", "0:0", ADDRESS_RESERVED},
            {"255.255.255.255", "ffff:ffff", ADDRESS_RESERVED},
            {"198.18.1.0", "c612:100", ADDRESS_RESERVED},
            {"8.8.8.8", "808:808", ADDRESS_PUBLIC},
        };
        static const char *const before[] = {"::ffff:",         "64:ff9b::",        "64:ff9b:1::",
                                             "64:ff9b:1:2:3::", "2606:4700::5efe:", "2606:4700::200:5efe:"};
        (void)state;
        for (size_t i = 0; i < COUNT(inner); i++) {
                char text[80];
                for (size_t j = 0; j < COUNT(before); j++) {
                        snprintf(text, sizeof(text), "%s%s", before[j], inner[i].inner);
                        expect(text, inner[i].class_);
                }
                snprintf(text, sizeof(text), "2002:%s::1", inner[i].inner_hex);
                expect(text, inner[i].class_);
        }
        /* Two at once: the worse counts; and a private carrier stays private. */
        expect("2002:808:808::5efe:127.0.0.1", ADDRESS_RESERVED);
        expect("2002:7f00:1::5efe:8.8.8.8", ADDRESS_RESERVED);
        expect("fd00::5efe:8.8.8.8", ADDRESS_PRIVATE);
        expect("fe80::5efe:10.0.0.1", ADDRESS_LINK_LOCAL);
        /* Prefixes of 48, 56 and 64 bits within 64:ff9b:1::/48; what stands behind counts for nothing. */
        expect("64:ff9b:1:7f00:0:100:808:808", ADDRESS_RESERVED);
        expect("64:ff9b:1:a:1:203:808:808", ADDRESS_PRIVATE);
        expect("64:ff9b:1:0:a:102:308:808", ADDRESS_PRIVATE);
        expect("64:ff9b:1:808:8:800:808:808", ADDRESS_PUBLIC);
        /* The interface identifier of ISATAP and nothing like it. */
        expect("2606:4700::400:5efe:127.0.0.1", ADDRESS_PUBLIC);
        expect("2606:4700::5eff:127.0.0.1", ADDRESS_PUBLIC);
        expect("64:ff9a::127.0.0.1", ADDRESS_RESERVED);
        expect("64:ff9b:2::8.8.8.8", ADDRESS_RESERVED);
}

static void test_parsing(void **state)
{
        static const char *const none[] = {
            "",      "1",        "1.2.3",    "1.2.3.4.5",    "1.2.3.256", "01.2.3.4", "0x7f.0.0.1",
            "127.1", " 1.2.3.4", "1.2.3.4 ", "fe80::1%eth0", "[::1]",     "::g",      "1:2:3:4:5:6:7",
            ":::",   "1.2.3.4/8"};
        struct in6_addr address;
        char text[ADDRESS_TEXT];
        (void)state;
        for (size_t i = 0; i < COUNT(none); i++)
                if (address_parse(none[i], &address))
                        fail_msg("\"%s\" was read as an address", none[i]);
        assert_string_equal(address_format(&(struct in6_addr){.s6_addr = {[15] = 1}}, text), "::1");
        address = parse("::ffff:1.2.3.4");
        assert_string_equal(address_format(&address, text), "1.2.3.4");
        address = parse("1.2.3.4");
        assert_string_equal(address_format(&address, text), "1.2.3.4");
        address = parse("2001:DB8:0:0::1");
        assert_string_equal(address_format(&address, text), "2001:db8::1");
}

static void test_prefixes(void **state)
{
        struct in6_addr network = parse("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"), address;
        (void)state;
        for (unsigned bit = 0; bit < 128; bit++) {
                address = network;
                address.s6_addr[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
                for (unsigned prefix = 0; prefix <= 128; prefix++)
                        assert_int_equal(address_in(&address, &network, prefix), prefix <= bit);
        }
        assert_true(address_in(&network, &network, 128));
}

static void test_documentation(void **state)
{
        static const char *const yes[] = {"192.0.2.1", "198.51.100.255", "203.0.113.0", "2001:db8::1",
                                          "3fff:fff::"};
        static const char *const no[] = {"192.0.3.1",  "198.51.101.0", "8.8.8.8",
                                         "2001:db9::", "3fff:1000::",  "127.0.0.1"};
        (void)state;
        for (size_t i = 0; i < COUNT(yes); i++) {
                struct in6_addr address = parse(yes[i]);
                assert_true(address_is_documentation(&address));
        }
        for (size_t i = 0; i < COUNT(no); i++) {
                struct in6_addr address = parse(no[i]);
                assert_false(address_is_documentation(&address));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_every_range_of_ipv4),
            cmocka_unit_test(test_every_range_of_ipv6),
            cmocka_unit_test(test_metadata_services),
            cmocka_unit_test(test_addresses_that_carry_another),
            cmocka_unit_test(test_parsing),
            cmocka_unit_test(test_prefixes),
            cmocka_unit_test(test_documentation),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
