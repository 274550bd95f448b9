/* SPDX-License-Identifier: Apache-2.0
 *
 * What hutch-nat tells the supervisor and hutch-filter: each destination once, a bounded number of them, and
 * the option that permits it.
 */
#include "nat_rig.h"

#include "lib/clock.h"
#include "nat/attempts.h"
#include "nat/explain.h"
#include "nat/refusals.h"

#include <fcntl.h>
#include <netinet/in.h>

static bool next_is(uint32_t type, const char *expected)
{
        const char *text = rig_message(type);
        if (strcmp(text, expected) == 0)
                return true;
        fprintf(stderr, "expected: %s\nreceived: %s\n", expected, text);
        return false;
}

static void denied(void)
{
        rig_start("allowed.test:443", "denied.test", false);
        struct target target = rig_target("203.0.113.7", 80), six = rig_target("2001:db8::7", 80);
        struct target named = {.name = "allowed.test", .port = 22}, udp = {.name = "a.test", .port = 53};
        udp.transport = TRANSPORT_UDP;
        report_denied(&target, VERDICT_NO_RULE);
        CHECK(next_is(NAT_DENIED, "network: refused 203.0.113.7:80: no rule allows it; to permit it: "
                                  "--network-allow 203.0.113.7"));
        report_denied(&target, VERDICT_NO_RULE);
        CHECK(next_is(0, ""));
        report_denied(&six, VERDICT_NO_RULE);
        CHECK(next_is(NAT_DENIED, "network: refused [2001:db8::7]:80: no rule allows it; to permit it: "
                                  "--network-allow [2001:db8::7]"));
        report_denied(&named, VERDICT_PORT);
        CHECK(next_is(NAT_DENIED,
                      "network: refused allowed.test:22: the rules allow it on other ports only; to permit "
                      "it: --network-allow allowed.test:22"));
        report_denied(&udp, VERDICT_NO_RULE);
        CHECK(strstr(rig_message(NAT_DENIED), "refused a.test:53/udp: no rule allows it; to permit it: "));
        /* No option permits these. */
        named = (struct target){.name = "denied.test", .port = 443};
        report_denied(&named, VERDICT_DENIED);
        CHECK(next_is(NAT_DENIED, "network: refused denied.test:443: --network-deny names it"));
        target = rig_target("169.254.169.254", 80);
        report_denied(&target, VERDICT_METADATA);
        CHECK(!strstr(rig_message(NAT_DENIED), "to permit it"));
        target = rig_target("127.0.0.1", 80);
        report_denied(&target, VERDICT_RESERVED);
        CHECK(!strstr(rig_message(NAT_DENIED), "to permit it"));
}
TEST_IN_CHILD(denied)

static void denied_addresses(void)
{
        rig_start("first.test:443,second.test:443", NULL, false);
        struct target first = {.name = "first.test", .port = 443},
                      second = {.name = "second.test", .port = 443};
        struct in6_addr private = rig_address("10.0.0.1"), loopback = rig_address("127.0.0.1");
        report_denied_address(&first, &private, VERDICT_SPECIAL);
        CHECK(next_is(NAT_DENIED,
                      "network: refused first.test:443: it leads to 10.0.0.1, and the address is private, or "
                      "this machine's own; to permit it: --network-allow first.test:443/private"));
        report_denied_address(&second, &loopback, VERDICT_RESERVED);
        CHECK(next_is(NAT_DENIED, "network: refused second.test:443: it leads to 127.0.0.1, and the address "
                                  "is reserved"));
        report_mismatch(&first, "HTTP Host", "other.test");
        CHECK(next_is(NAT_DENIED,
                      "network: refused a connection to first.test:443: its HTTP Host is other.test; to "
                      "permit that: --network-allow other.test"));
        report_mismatch(&first, "HTTP Host", "other.test");
        CHECK(next_is(0, ""));
        report_mismatch(&first, "TLS server name", NULL);
        CHECK(next_is(NAT_DENIED, "network: refused a connection to first.test:443: its TLS server name is "
                                  "missing or cannot be read"));
}
TEST_IN_CHILD(denied_addresses)

static void names_and_notes(void)
{
        rig_start("allowed.test:443", "denied.test", false);
        struct target target = {.name = "allowed.test", .port = 443};
        report_name("other.test");
        CHECK(next_is(NAT_DENIED, "network: refused to look up other.test: no rule allows it; to permit it: "
                                  "--network-allow other.test"));
        report_name("denied.test");
        CHECK(next_is(NAT_DENIED, "network: refused to look up denied.test: --network-deny names it"));
        report_failed(&target, "the name does not exist");
        CHECK(next_is(NAT_NOTE, "network: cannot reach allowed.test:443: the name does not exist"));
        report_proxy("proxy:80", NULL, "nothing answered in time");
        CHECK(next_is(NAT_DENIED, "network: no connection to the proxy proxy:80: nothing answered in time"));
        report_proxy("proxy:80", &target, "it refuses with status 403");
        CHECK(next_is(NAT_DENIED, "network: the proxy proxy:80 gives no connection to allowed.test:443: it "
                                  "refuses with status 403"));
        for (int i = 0; i < 2; i++)
                report_note("only once, whatever the value: %d", i);
        CHECK(next_is(NAT_NOTE, "only once, whatever the value: 0"));
        CHECK(next_is(0, ""));
}
TEST_IN_CHILD(names_and_notes)

/* 127 destinations, one sentence that says so, and nothing more. */
static void bound(void)
{
        rig_start("allowed.test", NULL, false);
        size_t shown = 0, notes = 0;
        for (uint16_t port = 1; port <= 300; port++) {
                struct target target = rig_target("203.0.113.7", port);
                struct nat_message head;
                report_denied(&target, VERDICT_NO_RULE);
                while (recv(rig_supervisor, &head, sizeof(head), MSG_DONTWAIT) > 0) {
                        shown += head.type == NAT_DENIED;
                        notes += head.type == NAT_NOTE;
                }
        }
        CHECK(shown == 127 && notes == 1);
}
TEST_IN_CHILD(bound)

/* Records are limited for each kind in each window of time, and the next one that is sent counts the others.
 */
static void records(void)
{
        rig_start("allowed.test", NULL, true);
        size_t sent = 0;
        nat.now = 1000;
        for (int i = 0; i < 150; i++) {
                report_question("allowed.test", 1, true);
                sent += *rig_message(NAT_RECORD) != 0;
        }
        CHECK(sent == 100);
        struct target target = {.name = "allowed.test", .port = 443};
        struct in6_addr address = rig_address("203.0.113.7");
        struct flow_report flow = {
            .target = target, .connected = true, .address = address, .up = 1, .down = 2, .began = 400};
        report_flow(&flow, NULL); /* another kind */
        CHECK(
            next_is(NAT_RECORD,
                    "\"event\":\"connection\",\"decision\":\"allowed\",\"destination\":\"allowed.test:443\","
                    "\"address\":\"203.0.113.7\",\"bytes_up\":1,\"bytes_down\":2,\"duration_ms\":600,"
                    "\"end\":\"closed\",\"dropped_before\":50"));
        report_question("allowed.test", 1, true);
        CHECK(next_is(0, ""));
        nat.now += 200;
        report_question("allowed.test", 28, true);
        CHECK(next_is(NAT_RECORD, "\"event\":\"dns\",\"name\":\"allowed.test\",\"type\":28,\"decision\":"
                                  "\"allowed\",\"dropped_before\":1"));
        flow.proxied = true;
        report_finish();
        for (int i = 0; i < 150; i++) {
                report_flow(&flow, "the sandbox ended");
                CHECK(strstr(rig_message(NAT_RECORD), "\"proxy_address\":\"203.0.113.7\""));
        }
}
TEST_IN_CHILD(records)

static void no_records(void)
{
        rig_start("allowed.test", NULL, false);
        struct target target = {.name = "allowed.test", .port = 443};
        report_question("allowed.test", 1, true);
        report_flow(&(struct flow_report){.target = target}, NULL);
        CHECK(next_is(0, ""));
}
TEST_IN_CHILD(no_records)

/* ---- what hutch-filter may ask for ---- */

static const char *kept_since(long long since)
{
        static char text[NAT_TEXT_MAX];
        text[refusals_write(since, text, sizeof(text))] = 0;
        return text;
}

static void kept(void)
{
        refusals_keep("before anybody asks");
        CHECK(strcmp(kept_since(1), "") == 0);
        refusals_start();
        refusals_keep("a");
        refusals_keep("b");
        long long between = clock_now_ns();
        refusals_keep("a");
        CHECK(strcmp(kept_since(1), "b\na\n") == 0);
        CHECK(strcmp(kept_since(between), "a\n") == 0);
        CHECK(strcmp(kept_since(clock_now_ns()), "") == 0);
        for (char name[] = "1"; *name <= '7'; ++*name)
                refusals_keep(name);
        CHECK(strcmp(kept_since(1), "a\n1\n2\n3\n4\n5\n6\n7\nmore\n") == 0);
        CHECK(strcmp(kept_since(between), "a\n1\n2\n3\n4\n5\n6\n7\n") == 0);
}
TEST_IN_CHILD(kept)

/* Whatever their length, what is kept fits in one answer. */
static void kept_long(void)
{
        char what[NAT_TEXT_MAX];
        refusals_start();
        memset(what, 'x', sizeof(what) - 1);
        what[sizeof(what) - 1] = 0;
        for (int i = 0; i < 9; i++) {
                what[0] = (char)('a' + i);
                refusals_keep(what);
        }
        const char *text = kept_since(1);
        CHECK(strlen(text) < NAT_TEXT_MAX && strcmp(text + strlen(text) - 6, "\nmore\n") == 0);
}
TEST_IN_CHILD(kept_long)

/* ---- attempts ---- */

static int attempts_socket = -1;

static void start_attempts(void)
{
        int ends[2];
        CHECK(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
        attempts_watch(ends[0]);
        attempts_socket = ends[1];
}

static void send_attempt4(uint8_t header_words, uint8_t protocol, size_t length)
{
        uint8_t packet[80] = {(uint8_t)(0x40 | header_words), [9] = protocol, [16] = 203, 0, 113, 7};
        packet[header_words * 4 + 2] = 0x12;
        packet[header_words * 4 + 3] = 0x34;
        CHECK(send(attempts_socket, packet, length, 0) == (ssize_t)length);
}

static void attempts_are_reported(void)
{
        rig_start("allowed.test", NULL, false);
        start_attempts();
        send_attempt4(5, IPPROTO_TCP, 40);
        send_attempt4(6, IPPROTO_UDP, 28); /* options in the header */
        uint8_t six[44] = {0x60, [6] = IPPROTO_TCP, [24] = 0x20, 0x01, 0x0d, 0xb8, [39] = 7, [42] = 1, 0xbb};
        CHECK(send(attempts_socket, six, sizeof(six), 0) == sizeof(six));
        attempts_catch_up();
        CHECK(strstr(rig_message(NAT_DENIED), "network: refused 203.0.113.7:4660: "));
        CHECK(strstr(rig_message(NAT_DENIED), "network: refused 203.0.113.7:4660/udp: "));
        CHECK(strstr(rig_message(NAT_DENIED), "network: refused [2001:db8::7]:443: "));
        CHECK(next_is(0, ""));
}
TEST_IN_CHILD(attempts_are_reported)

static void incomplete_attempts(void)
{
        rig_start("allowed.test", NULL, false);
        start_attempts();
        send_attempt4(5, IPPROTO_TCP, 23);
        send_attempt4(5, IPPROTO_TCP, 19);
        send_attempt4(15, IPPROTO_TCP, 63);
        uint8_t six[43] = {0x60}, odd[64] = {0x50};
        CHECK(send(attempts_socket, six, sizeof(six), 0) == sizeof(six));
        CHECK(send(attempts_socket, odd, sizeof(odd), 0) == sizeof(odd));
        CHECK(send(attempts_socket, odd, 0, 0) == 0);
        send_attempt4(15, IPPROTO_TCP, 64);
        attempts_catch_up();
        CHECK(strstr(rig_message(NAT_DENIED), "network: refused 203.0.113.7:4660: "));
        CHECK(next_is(0, ""));
}
TEST_IN_CHILD(incomplete_attempts)

/* hutch-filter learns of an attempt that still waits in its socket when the question arrives. */
static void explained(void)
{
        struct {
                struct nat_asked head;
                char text[NAT_TEXT_MAX];
        } message = {.head = {.number = 5, .since = 1}};
        int ends[2];
        CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
        int asker = fcntl(ends[1], F_DUPFD_CLOEXEC, NAT_FILTER + 1);
        CHECK(asker >= 0 && dup2(ends[0], NAT_FILTER) == NAT_FILTER);
        rig_start("allowed.test", NULL, false);
        start_attempts();
        CHECK(explain_serve());
        report_question("refused.test", 1, false);
        report_question("allowed.test", 1, true);
        send_attempt4(5, IPPROTO_TCP, 40);
        CHECK(send(asker, &message.head, sizeof(message.head), 0) == sizeof(message.head));
        loop_turn();
        ssize_t length = recv(asker, &message, sizeof(message), MSG_DONTWAIT);
        static const char expected[] = "the name refused.test\n"
                                       "a connection to 203.0.113.7:4660 (no rule allows it)\n";
        CHECK(length == (ssize_t)(sizeof(message.head) + sizeof(expected) - 1) && message.head.number == 5);
        CHECK(memcmp(message.text, expected, sizeof(expected) - 1) == 0);
}
TEST_IN_CHILD(explained)

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_denied),
            cmocka_unit_test(test_denied_addresses),
            cmocka_unit_test(test_names_and_notes),
            cmocka_unit_test(test_bound),
            cmocka_unit_test(test_records),
            cmocka_unit_test(test_no_records),
            cmocka_unit_test(test_kept),
            cmocka_unit_test(test_kept_long),
            cmocka_unit_test(test_attempts_are_reported),
            cmocka_unit_test(test_incomplete_attempts),
            cmocka_unit_test(test_explained),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
