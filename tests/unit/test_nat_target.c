/* SPDX-License-Identifier: Apache-2.0
 *
 * Which destinations hutch-nat permits: as the sandbox addresses them, and as a name resolves.
 */
#include "nat/names.h"
#include "nat_rig.h"

#include "nat/host_routes.h"
#include "nat/netlink.h"
#include "nat/setup.h"
#include "nat/target.h"

#include <linux/rtnetlink.h>
#include <sched.h>

static enum verdict judge(const char *address, uint16_t port)
{
        struct target target = rig_target(address, port);
        return target_judge(&target);
}

static void addressed(void)
{
        struct in6_addr given;
        rig_start("allowed.test:443,203.0.113.0/24:80", "denied.test", false);
        CHECK(judge("203.0.113.7", 80) == VERDICT_ALLOWED);
        CHECK(judge("203.0.113.7", 81) == VERDICT_PORT);
        CHECK(judge("198.51.100.7", 80) == VERDICT_NO_RULE);
        CHECK(judge("127.0.0.1", 80) == VERDICT_RESERVED);
        /* Synthetic addresses mean the name they were given to, and nothing before that. */
        CHECK(judge("198.18.1.0", 443) == VERDICT_NO_RULE);
        names_address4(names_number(nat.names, "allowed.test"), &given);
        struct target target = {.address = given, .port = 443};
        CHECK(target_judge(&target) == VERDICT_ALLOWED && strcmp(target.name, "allowed.test") == 0);
        target.port = 80;
        CHECK(target_judge(&target) == VERDICT_PORT);
        names_address6(names_number(nat.names, "other.test"), &target.address);
        CHECK(target_judge(&target) == VERDICT_NO_RULE && strcmp(target.name, "other.test") == 0);
        names_address6(names_number(nat.names, "denied.test"), &target.address);
        CHECK(target_judge(&target) == VERDICT_DENIED);
}
TEST_IN_CHILD(addressed)

/* False for an address of IPv6 on a machine without it. */
static bool has_family(const char *address)
{
        int probe = strchr(address, ':') ? socket(AF_INET6, SOCK_DGRAM, 0) : 0;
        if (probe > 0)
                close(probe);
        return probe >= 0;
}

/* Adds a route of this type through lo. */
static void add_route(const char *destination, uint8_t type)
{
        if (!has_family(destination))
                return;
        int requests = netlink_open(NETLINK_ROUTE);
        struct netlink_batch batch = {0};
        uint32_t failed;
        struct in6_addr parsed = rig_address(destination);
        bool four = IN6_IS_ADDR_V4MAPPED(&parsed);
        size_t size = four ? 4 : 16;
        struct nlmsghdr *header =
            netlink_add(&batch, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, sizeof(struct rtmsg), true);
        struct rtmsg *route = mnl_nlmsg_get_payload(header);
        *route = (struct rtmsg){.rtm_family = four ? AF_INET : AF_INET6,
                                .rtm_dst_len = (uint8_t)(8 * size),
                                .rtm_table = RT_TABLE_LOCAL,
                                .rtm_protocol = RTPROT_STATIC,
                                .rtm_scope = RT_SCOPE_LINK,
                                .rtm_type = type};
        mnl_attr_put(header, RTA_DST, size, parsed.s6_addr + 16 - size);
        mnl_attr_put_u32(header, RTA_OIF, 1);
        CHECK(requests >= 0 && netlink_run(requests, &batch, &failed) == 0);
        close(requests);
}

/* A network namespace whose only interface is lo, with one public address. */
static void own_network(const char *address)
{
        if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
                _exit(RIG_SKIPPED);
        CHECK(setup_loopback() == 0);
        int requests = netlink_open(NETLINK_ROUTE);
        struct netlink_batch batch = {0};
        uint32_t failed;
        struct in6_addr parsed = rig_address(address);
        struct nlmsghdr *header =
            netlink_add(&batch, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, sizeof(struct ifaddrmsg), true);
        struct ifaddrmsg *message = mnl_nlmsg_get_payload(header);
        message->ifa_family = AF_INET;
        message->ifa_prefixlen = 32;
        message->ifa_index = 1;
        mnl_attr_put(header, IFA_LOCAL, 4, parsed.s6_addr + 12);
        CHECK(requests >= 0 && netlink_run(requests, &batch, &failed) == 0);
}

static enum verdict resolved(const char *name, const char *address, uint16_t port)
{
        struct target target = {.name = name, .port = port};
        struct in6_addr parsed = rig_address(address);
        return target_judge_address(&target, &parsed);
}

static void resolved_to(void)
{
        own_network("9.9.9.9");
        rig_start("public.test:443,private.test:443/private,8.8.8.8:443,9.9.9.9:53", "1.0.0.0/24", false);
        CHECK(host_routes_open());
        CHECK(resolved("public.test", "1.1.1.1", 443) == VERDICT_ALLOWED);
        CHECK(resolved("public.test", "10.0.0.1", 443) == VERDICT_SPECIAL);
        CHECK(resolved("public.test", "127.0.0.1", 443) == VERDICT_RESERVED);
        CHECK(resolved("public.test", "169.254.169.254", 443) == VERDICT_METADATA);
        CHECK(resolved("public.test", "1.0.0.1", 443) == VERDICT_DENIED);
        CHECK(resolved("private.test", "10.0.0.1", 443) == VERDICT_ALLOWED);
        CHECK(resolved("private.test", "::1", 443) == VERDICT_RESERVED);
        /* A public address of the host itself needs a rule that names it. */
        CHECK(resolved("public.test", "9.9.9.9", 443) == VERDICT_SPECIAL);
        CHECK(resolved(NULL, "9.9.9.9", 53) == VERDICT_ALLOWED);
        CHECK(resolved(NULL, "8.8.8.8", 443) == VERDICT_ALLOWED);
        CHECK(resolved("public.test", "203.0.113.1", 443) == VERDICT_ALLOWED);
}
TEST_IN_CHILD(resolved_to)

static void routes(void)
{
        static const char *const own[] = {"9.9.9.9",    "127.0.0.1", "127.1.2.3",   "::1",
                                          "9.9.10.255", "224.0.1.7", "2001:4860::2"};
        own_network("9.9.9.9");
        add_route("9.9.10.255", RTN_BROADCAST);
        add_route("224.0.1.7", RTN_MULTICAST);
        add_route("2001:4860::2", RTN_ANYCAST);
        add_route("9.9.11.1", RTN_UNICAST);
        CHECK(host_routes_open());
        for (size_t i = 0; i < COUNT(own); i++) {
                struct in6_addr address = rig_address(own[i]);
                CHECK(!has_family(own[i]) || !host_routes_leave(&address));
        }
        static const char *const elsewhere[] = {"9.9.9.8", "9.9.11.1", "2001:4860::1"};
        for (size_t i = 0; i < COUNT(elsewhere); i++) {
                struct in6_addr address = rig_address(elsewhere[i]);
                CHECK(host_routes_leave(&address));
        }
}
TEST_IN_CHILD(routes)

/* Without an answer of the kernel no address counts as elsewhere. */
static void no_routes(void)
{
        struct in6_addr elsewhere = rig_address("9.9.9.8");
        CHECK(!host_routes_leave(&elsewhere));
}
TEST_IN_CHILD(no_routes)

static void test_socket_addresses(void **state)
{
        (void)state;
        static const char *const texts[] = {"192.0.2.7", "2001:db8::7"};
        static const int families[] = {AF_INET, AF_INET6};
        for (size_t i = 0; i < COUNT(texts); i++) {
                struct in6_addr address, back;
                struct sockaddr_storage stored;
                uint16_t port;
                assert_true(address_parse(texts[i], &address));
                socklen_t length = target_store(&address, 8443, &stored);
                assert_int_equal(stored.ss_family, families[i]);
                assert_int_equal(length, i ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
                target_load(&stored, &back, &port);
                assert_int_equal(port, 8443);
                assert_memory_equal(&address, &back, sizeof(address));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_addressed),        cmocka_unit_test(test_resolved_to),
            cmocka_unit_test(test_routes),           cmocka_unit_test(test_no_routes),
            cmocka_unit_test(test_socket_addresses),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
