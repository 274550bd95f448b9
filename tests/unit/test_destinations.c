/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of --network-allow and --network-deny: the whole grammar, generated; and what is refused, with
 * what the person is told to write instead.
 */
#include "unit.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "policy/addresses.h"
#include "policy/destinations.h"

#include <ctype.h>
#include <stdio.h>

/* ---- the grammar, generated ---- */

/* A part of a destination as it may be written, and what it must come to mean. */
struct host_part {
        const char *text;
        enum destination_kind kind;
        const char *name; /* or address */
        unsigned prefix;
        bool brackets; /* a port can follow only inside of brackets */
};
static const struct host_part hosts[] = {
    {"example.com", DESTINATION_NAME, "example.com", 0, false},
    {"EXAMPLE.Com.", DESTINATION_NAME, "example.com", 0, false},
    {"a", DESTINATION_NAME, "a", 0, false},
    {"_srv.x-1.a_b.test", DESTINATION_NAME, "_srv.x-1.a_b.test", 0, false},
    {"xn--bcher-kva.example", DESTINATION_NAME, "xn--bcher-kva.example", 0, false},
    {"1.2.3.4.example", DESTINATION_NAME, "1.2.3.4.example", 0, false},
    {"0x1f.cafe", DESTINATION_NAME, "0x1f.cafe", 0, false},
    {"*.example.com", DESTINATION_BELOW, "example.com", 0, false},
    {"*.B.example.CO.UK.", DESTINATION_BELOW, "b.example.co.uk", 0, false},
    {"*.me.github.io", DESTINATION_BELOW, "me.github.io", 0, false},
    {"public", DESTINATION_PUBLIC, "", 0, false},
    {"PUBLIC", DESTINATION_PUBLIC, "", 0, false},
    {"203.0.113.9", DESTINATION_ADDRESS, "203.0.113.9", 128, false},
    {"10.0.0.0/8", DESTINATION_ADDRESS, "10.0.0.0", 104, false},
    {"192.168.7.0/24", DESTINATION_ADDRESS, "192.168.7.0", 120, false},
    {"169.254.169.254", DESTINATION_ADDRESS, "169.254.169.254", 128, false},
    {"[2001:db8::1]", DESTINATION_ADDRESS, "2001:db8::1", 128, false},
    {"[2001:DB8::/32]", DESTINATION_ADDRESS, "2001:db8::", 32, false},
    {"2001:db8::1", DESTINATION_ADDRESS, "2001:db8::1", 128, true},
    {"fd00::/8", DESTINATION_ADDRESS, "fd00::", 8, true},
    {"::ffff:203.0.113.0/120", DESTINATION_ADDRESS, "203.0.113.0", 120, true},
};

struct port_part {
        const char *text;
        unsigned first, last;
};
static const struct port_part ports[] = {
    {"", 0, 0},         {":1", 1, 1},
    {":443", 443, 443}, {":65535", 65535, 65535},
    {":*", 1, 65535},   {":8000-8010", 8000, 8010},
    {":7-7", 7, 7},     {":1-65535", 1, 65535},
};

static const struct {
        const char *text;
        bool udp, private_too;
} suffixes[] = {
    {"", false, false}, {"/udp", true, false}, {"/private", false, true}, {"/udp/private", true, true}};

static void check_ports(const struct destination *made, enum destination_use use,
                        const struct port_part *port)
{
        if (port->first) {
                assert_int_equal(made->port_count, 1);
                assert_int_equal(made->ports[0].first, port->first);
                assert_int_equal(made->ports[0].last, port->last);
        } else if (use == DESTINATION_ALLOW) {
                assert_int_equal(made->port_count, 2);
                assert_int_equal(made->ports[0].first, 443);
                assert_int_equal(made->ports[0].last, 443);
                assert_int_equal(made->ports[1].first, 80);
                assert_int_equal(made->ports[1].last, 80);
        } else {
                assert_int_equal(made->port_count, 1);
                assert_int_equal(made->ports[0].first, 1);
                assert_int_equal(made->ports[0].last, 65535);
        }
}

static void check_host(const struct destination *made, const struct host_part *host)
{
        assert_int_equal(made->kind, host->kind);
        if (host->kind != DESTINATION_ADDRESS) {
                assert_string_equal(made->name, host->name);
                return;
        }
        char text[ADDRESS_TEXT];
        assert_string_equal(address_format(&made->address, text), host->name);
        assert_int_equal(made->prefix, host->prefix);
}

static void check_one(enum destination_use use, size_t host, size_t port, size_t suffix)
{
        struct destinations list = {0};
        struct error error = {0};
        autofree char *text = str_format("%s%s%s", hosts[host].text, ports[port].text, suffixes[suffix].text);
        if (!destinations_add(&list, use, text, &error))
                fail_msg("\"%s\" was refused: %s", text, error.text);
        assert_int_equal(list.count, 1);
        const struct destination *made = &list.items[0];
        assert_string_equal(made->text, text);
        check_host(made, &hosts[host]);
        check_ports(made, use, &ports[port]);
        assert_int_equal(made->transport, suffixes[suffix].udp ? TRANSPORT_UDP : TRANSPORT_TCP);
        assert_int_equal(made->any_transport, use == DESTINATION_DENY && !suffixes[suffix].udp);
        assert_int_equal(made->private_too, suffixes[suffix].private_too);
        destinations_free(&list);
}

static void test_the_whole_grammar(void **state)
{
        size_t checked = 0;
        (void)state;
        for (size_t host = 0; host < COUNT(hosts); host++)
                for (size_t port = 0; port < COUNT(ports); port++)
                        for (size_t suffix = 0; suffix < COUNT(suffixes); suffix++) {
                                if (hosts[host].brackets && *ports[port].text)
                                        continue;
                                if (hosts[host].kind == DESTINATION_PUBLIC && suffixes[suffix].private_too)
                                        continue;
                                check_one(DESTINATION_ALLOW, host, port, suffix);
                                check_one(DESTINATION_DENY, host, port, suffix);
                                checked++;
                        }
        assert_true(checked > 500);
}

static void test_lists(void **state)
{
        struct destinations list = {0};
        struct error error = {0};
        (void)state;
        assert_true(destinations_add(&list, DESTINATION_ALLOW,
                                     "a.test,b.test:8080,*.c.test,10.0.0.0/8:5432/private", &error));
        assert_true(destinations_add(&list, DESTINATION_ALLOW, "d.test", &error));
        assert_int_equal(list.count, 5);
        assert_string_equal(list.items[3].text, "10.0.0.0/8:5432/private");
        assert_string_equal(list.items[4].name, "d.test");
        destinations_free(&list);
        assert_int_equal(list.count, 0);
        assert_null(list.items);
}

static void test_localhost(void **state)
{
        struct destinations list = {0};
        struct error error = {0};
        (void)state;
        assert_true(destinations_add(&list, DESTINATION_ALLOW, "localhost:5432,LOCALHOST:8000-8003", &error));
        assert_int_equal(list.items[0].kind, DESTINATION_LOCALHOST);
        assert_int_equal(list.items[0].ports[0].first, 5432);
        assert_int_equal(list.items[1].kind, DESTINATION_LOCALHOST);
        assert_int_equal(list.items[1].ports[0].last, 8003);
        destinations_free(&list);
}

/* ---- what is refused ---- */

static void expect_refused(enum destination_use use, const char *text, const char *instead)
{
        struct destinations list = {0};
        struct error error = {0};
        if (destinations_add(&list, use, text, &error))
                fail_msg("\"%s\" was accepted", text);
        assert_int_equal(error.status, EXIT_USAGE);
        const char *option = use == DESTINATION_DENY ? "--network-deny" : "--network-allow";
        if (strncmp(error.text, option, strlen(option)) != 0 || !strstr(error.text, instead))
                fail_msg("\"%s\": the sentence is: %s", text, error.text);
        destinations_free(&list);
}

static void test_refused(void **state)
{
        static const struct {
                const char *text, *instead;
        } refused[] = {
            {"", "empty destination"},
            {"a.test,", "empty destination"},
            {",a.test", "empty destination"},
            {"a.test,,b.test", "empty destination"},
            {"*", "write public"},
            {"*:*", "write public"},
            {"all", "write public"},
            {"https://api.example.com/v1?x=1", "write api.example.com"},
            {"http://user:pw@api.example.com:8080/", "write api.example.com:8080"},
            {"https://api.example.com?x=a@b", "write api.example.com"},
            {"api.example.com/v1", "write api.example.com"},
            {"a.test, b.test", "write b.test"},
            {"a.test\nb.test", "white space"},
            {"*.com", "*.example.com"},
            {"*.test", "*.example.test"},
            {"*.co.uk", "*.example.co.uk"},
            {"*.GitHub.io.", "*.example.github.io"},
            {"*.*.example.com", "whole labels"},
            {"**.example.com", "whole labels"},
            {"a.*.example.com", "whole labels"},
            {"a*.example.com", "whole labels"},
            {"*example.com", "whole labels"},
            {"*.", "not a domain name"},
            {".", "not a domain name"},
            {"..", "not a domain name"},
            {".example.com", "not a domain name"},
            {"example..com", "not a domain name"},
            {"example.com..", "not a domain name"},
            {"-a.example.com", "not a domain name"},
            {"a-.example.com", "not a domain name"},
            {"exa mple.com", "write exa,mple.com"},
            {"exam\x01ple.com", "not a domain name"},
            {"user@example.com", "not a domain name"},
            {"b\xc3\xbc"
             "cher.example",
             "xn--"},
            {"1.2.3", "not a domain name"},
            {"127.1", "not a domain name"},
            {"2130706433", "not a domain name"},
            {"0x7f.0.0.1", "not a domain name"},
            {"0x7f000001", "not a domain name"},
            {"example.0x7f", "not a domain name"},
            {"1.2.3.256", "not a domain name"},
            {"01.2.3.4", "not a domain name"},
            {"example.com:", "HOST:443"},
            {"example.com:0", "HOST:443"},
            {"example.com:00443", "HOST:443"},
            {"example.com:65536", "HOST:443"},
            {"example.com:99999999999", "HOST:443"},
            {"example.com:-1", "HOST:443"},
            {"example.com:http", "write example.com:80"},
            {"example.com:443-80", "HOST:443"},
            {"example.com:80-", "HOST:443"},
            {"example.com:+80", "HOST:443"},
            {"example.com:80-90-100", "HOST:443"},
            {":443", "write HOST:443"},
            {"443", "write HOST:443"},
            {"65536", "not a domain name"},
            {"example.com/app", "cannot name a path"},
            {"example.com:443/x", "write example.com:443"},
            {"example.com/", "write example.com"},
            {"example.com/tcp", "a suffix is /udp or /private, and TCP needs none"},
            {"example.com/UDP", "a suffix is /udp or /private"},
            {"/upd", "write a host"},
            {"example.com:", "there is no port (1 to 65535) after the colon"},
            {"example.com:99999", "99999 is neither a port"},
            {"*:443", "whole labels"},
            {"private", "192.168.0.0/16"},
            {"private:22", "or private.:22 for a host"},
            {"publc", "or publc. for a host"},
            {"public/private", "exclude each other"},
            {"localhost", "localhost:PORT"},
            {"localhost:53/udp", "localhost:PORT"},
            {"localhost:80/private", "localhost:PORT"},
            {"localhost.:80", "localhost:PORT"},
            {"x.localhost:80", "localhost:PORT"},
            {"*.localhost", "localhost:PORT"},
            {"*.a.localhost", "localhost:PORT"},
            {"127.0.0.1:8000", "localhost:8000"},
            {"127.9.9.9", "localhost:443"},
            {"[::1]:8000", "localhost:8000"},
            {"::ffff:127.0.0.1", "localhost:443"},
            {"0.0.0.0", "no rule can permit"},
            {"0.0.0.0/8", "no rule can permit"},
            {"::", "no rule can permit"},
            {"224.0.0.1", "no rule can permit"},
            {"ff02::1", "no rule can permit"},
            {"198.18.0.1", "no rule can permit"},
            {"fd68:7574:6368::1", "no rule can permit"},
            {"64:ff9b::127.0.0.1", "no rule can permit"},
            {"2002:7f00:1::", "no rule can permit"},
            {"0.0.0.0/0", "write public"},
            {"128.0.0.0/1", "write public"},
            {"::/0", "write public"},
            {"2000::/3", "write public"},
            {"::ffff:0:0/96", "write public"},
            {"::ffff:128.0.0.0/97", "write public"},
            {"10.0.0.1/8", "write 10.0.0.0/8"},
            {"10.0.0.0/33", "prefix length"},
            {"10.0.0.0/", "prefix length"},
            {"10.0.0.0/+8", "prefix length"},
            {"10.0.0.0/8x", "prefix length"},
            {"2001:db8::/129", "prefix length"},
            {"2001:db8::1/32", "write 2001:db8::/32"},
            {"2001:db8::1:443:x", "not a domain name"},
            {"[2001:db8::1", "[2001:db8::1]:443"},
            {"[2001:db8::1]443", "[2001:db8::1]:443"},
            {"[2001:db8::]/32", "[2001:db8::1]:443"},
            {"[example.com]:443", "brackets are for IPv6"},
            {"[10.0.0.1]:443", "brackets are for IPv6"},
            {"[::g]:443", "not a domain name"},
            {"fe80::1%eth0", "not a domain name"},
        };
        (void)state;
        for (size_t i = 0; i < COUNT(refused); i++)
                expect_refused(DESTINATION_ALLOW, refused[i].text, refused[i].instead);
        expect_refused(DESTINATION_DENY, "localhost:80", "denied anyway");
        expect_refused(DESTINATION_DENY, "*.com", "*.example.com");
        expect_refused(DESTINATION_DENY, "0.0.0.0/0", "write public");
}

/* What is proposed is the whole rest of the sentence, or ends at a blank; and it is a rule itself. */
static void test_the_nearest_spelling(void **state)
{
        static const struct {
                const char *text, *proposed;
        } slips[] = {
            {"a.example b.example", "a.example,b.example"},
            {"  a.example\tb.example\n", "a.example,b.example"},
            {"api.weather.gov 443", "api.weather.gov:443"},
            {"api.weather.gov : 443", "api.weather.gov:443"},
            {"a.test 443 b.test 80-90", "a.test:443,b.test:80-90"},
            {"time.example.com 123/udp", "time.example.com:123/udp"},
            {"time.example.com:123 /udp", "time.example.com:123/udp"},
            {"host:443/upd", "host:443/udp"},
            {"host:443/UDP", "host:443/udp"},
            {"host:443/tcp", "host:443"},
            {"host/private/tcp", "host/private"},
            {"host/udp/udp", "host/udp"},
            {"host:22/privat/udp", "host:22/udp/private"},
            {"10.0.0.0/8:53/upd", "10.0.0.0/8:53/udp"},
            {"[2001:db8::1]:443/tcp", "[2001:db8::1]:443"},
            {"udp://time.example.com:123", "time.example.com:123/udp"},
            {"UDP://time.example.com:123/x", "time.example.com:123/udp"},
            {"ssh://git@git.example.com/x", "git.example.com:22"},
            {"ssh://git@git.example.com:2222/x", "git.example.com:2222"},
            {"postgres://[2001:db8::1]/x", "[2001:db8::1]:5432"},
            {"https://api.example.com/", "api.example.com"},
            {"api.weather.gov/443", "api.weather.gov:443"},
            {"api.weather.gov/8000-8010/private", "api.weather.gov:8000-8010/private"},
            {"localhost:https", "localhost:443"},
            {"example.com:SSH", "example.com:22"},
            {"time.example.com:ntp/udp", "time.example.com:123/udp"},
            {"[2001:db8::1]:http", "[2001:db8::1]:80"},
            {"host:443,8080", "host:8080"},
            {"host,8080", "host:8080"},
            {"host:443/private,:8000-8010/private", "host:8000-8010/private"},
            {"a.test,[2001:db8::1]:443,8080", "[2001:db8::1]:8080"},
            {"2001:db8::1,8080", "[2001:db8::1]:8080"},
            {"10.0.0.0/8:22,23", "10.0.0.0/8:23"},
            {"Publc", "public"},
            {"pubilc:8080", "public:8080"},
            {"internet", "public"},
            {"ANY:443", "public:443"},
            {"all", "public"},
        };
        (void)state;
        for (size_t i = 0; i < COUNT(slips); i++) {
                struct destinations list = {0};
                struct error error = {0}, none = {0};
                assert_false(destinations_add(&list, DESTINATION_ALLOW, slips[i].text, &error));
                const char *said = strstr(error.text, "; write ");
                assert_non_null(said);
                autofree char *proposed = str_copy_n(said + 8, strcspn(said + 8, " "));
                if (!str_equal(proposed, slips[i].proposed))
                        fail_msg("\"%s\": the sentence is: %s", slips[i].text, error.text);
                if (!destinations_add(&list, DESTINATION_ALLOW, proposed, &none))
                        fail_msg("\"%s\" is no rule: %s", proposed, none.text);
                destinations_free(&list);
        }
}

/* Names without a dot are names; that of a word of everybody's has its final dot. */
static void test_bare_names(void **state)
{
        struct destinations list = {0};
        struct error error = {0};
        (void)state;
        assert_true(destinations_add(&list, DESTINATION_ALLOW,
                                     "public.,publ.c,intranet,db:5432,republic,pub,publish.test,publc.,any.:"
                                     "443,private.,public.example,tcp,udp",
                                     &error));
        assert_int_equal(list.count, 13);
        assert_string_equal(list.items[0].name, "public");
        for (size_t i = 0; i < list.count; i++)
                assert_int_equal(list.items[i].kind, DESTINATION_NAME);
        destinations_free(&list);
}

/* What is reserved may be denied: it is refused anyway, and no sentence helps. */
static void test_denied_addresses(void **state)
{
        struct destinations list = {0};
        struct error error = {0};
        (void)state;
        assert_true(
            destinations_add(&list, DESTINATION_DENY, "127.0.0.0/8,224.0.0.1,169.254.0.0/16", &error));
        destinations_free(&list);
}

/* ---- names ---- */

static void test_lengths(void **state)
{
        char name[300];
        struct destinations list = {0};
        struct error error = {0};
        (void)state;
        memset(name, 'a', sizeof(name));
        for (size_t dot = 63; dot < sizeof(name); dot += 64)
                name[dot] = '.';
        name[253] = 0;
        assert_true(destination_is_name(name));
        assert_true(destinations_add(&list, DESTINATION_ALLOW, name, &error));
        assert_string_equal(list.items[0].name, name);
        name[253] = 'a';
        name[254] = 0;
        assert_false(destination_is_name(name));
        assert_false(destinations_add(&list, DESTINATION_ALLOW, name, &error));
        name[253] = '.'; /* the final dot does not count */
        error = (struct error){0};
        assert_true(destinations_add(&list, DESTINATION_ALLOW, name, &error));
        destinations_free(&list);
        memset(name, 'a', 64);
        name[63] = 0;
        assert_true(destination_is_name(name));
        name[63] = 'a';
        name[64] = 0;
        assert_false(destination_is_name(name));
}

/* Every byte, in every place of a label. */
static void test_bytes_of_names(void **state)
{
        (void)state;
        for (int byte = 1; byte < 256; byte++) {
                char name[] = "aba.test";
                bool inner = islower(byte) || isdigit(byte) || byte == '-' || byte == '_' || byte == '.';
                bool outer = inner && byte != '-' && byte != '.';
                name[1] = (char)byte;
                assert_int_equal(destination_is_name(name), inner);
                name[1] = 'b';
                name[0] = (char)byte;
                assert_int_equal(destination_is_name(name), outer);
                name[0] = 'a';
                name[2] = (char)byte;
                assert_int_equal(destination_is_name(name), outer);
        }
        assert_false(destination_is_name(""));
        assert_false(destination_is_name("A.test"));
        assert_false(destination_is_name("a.test."));
        assert_false(destination_is_name("a.1"));
        assert_false(destination_is_name("a.0x"));
        assert_false(destination_is_name("a.0xff"));
        assert_true(destination_is_name("a.0xfg"));
        assert_true(destination_is_name("1.a"));
}

static void test_public_suffixes(void **state)
{
        static const char *const yes[] = {"com",   "test",      "uk",         "co.uk",           "com.au",
                                          "ac.jp", "github.io", "vercel.app", "s3.amazonaws.com"};
        static const char *const no[] = {"example.com",   "example.co.uk", "me.github.io",
                                         "co.example",    "xco.uk",        "a.com.au",
                                         "amazonaws.com", "com.com",       "bbc.uk"};
        (void)state;
        for (size_t i = 0; i < COUNT(yes); i++)
                if (!destination_is_public_suffix(yes[i]))
                        fail_msg("%s is one", yes[i]);
        for (size_t i = 0; i < COUNT(no); i++)
                if (destination_is_public_suffix(no[i]))
                        fail_msg("%s is none", no[i]);
}

/* The shared hosts that destinations.c lists, from its text: one more word at each call, NULL behind the
 * last. */
static char *next_shared_host(char **rest)
{
        char *begin = *rest + strspn(*rest, "\" \n");
        size_t length = strcspn(begin, "\" \n;");
        *rest = begin + length;
        return length ? str_copy_n(begin, length) : NULL;
}

static bool has_line(const char *text, const char *line)
{
        size_t length = strlen(line);
        for (const char *at = text; (at = strstr(at, line)) != NULL; at += length)
                if ((at == text || at[-1] == '\n') && at[length] == '\n')
                        return true;
        return false;
}

/* Each is on the Public Suffix List, where Debian's package of it is installed. */
static void test_the_list_of_shared_hosts(void **state)
{
        autofree char *published = NULL;
        autofree char *source = NULL;
        size_t count = 0;
        (void)state;
        if (fd_read_file("/usr/share/publicsuffix/public_suffix_list.dat", 1 << 24, &published) < 0)
                skip();
        assert_true(fd_read_file(HUTCH_SOURCE_DIR "/src/policy/destinations.c", 1 << 20, &source) > 0);
        static const char list[] = "shared_hosts[] =";
        char *rest = strstr(source, list);
        assert_non_null(rest);
        rest += strlen(list);
        for (char *name; (name = next_shared_host(&rest)) != NULL; count++) {
                if (!has_line(published, name))
                        fail_msg("%s is not on the list", name);
                assert_true(destination_is_public_suffix(name));
                free(name);
        }
        assert_true(count > 30);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_the_whole_grammar),
            cmocka_unit_test(test_lists),
            cmocka_unit_test(test_localhost),
            cmocka_unit_test(test_refused),
            cmocka_unit_test(test_the_nearest_spelling),
            cmocka_unit_test(test_bare_names),
            cmocka_unit_test(test_denied_addresses),
            cmocka_unit_test(test_lengths),
            cmocka_unit_test(test_bytes_of_names),
            cmocka_unit_test(test_public_suffixes),
            cmocka_unit_test(test_the_list_of_shared_hosts),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
