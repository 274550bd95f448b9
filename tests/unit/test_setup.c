/* SPDX-License-Identifier: Apache-2.0
 *
 * The gateway's set-up in namespaces of the test's own, and what the sockets that it hands over hear.
 * Compiled twice: with SETUP_WITHOUT_VETH the kernel is asked for a kind of link that it does not have, so
 * that the sandbox shares the gateway's namespace.
 *
 * Each test is a child in a new user namespace; it plays the sandbox and hutch-nat at once.
 */
#include "policy/network.h"
#include "unit.h"

#include "lib/fd.h"
#include "nat/listeners.h"
#include "nat/netlink.h"
#include "nat/packets.h"
#include "nat/setup.h"
#include "nat/wire.h"
#include "policy/addresses.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#ifdef SETUP_WITHOUT_VETH
enum { HAS_VETH = 0 };
#else
enum { HAS_VETH = 1 };
#endif

enum { SKIPPED = 77, PATIENCE_MS = 3000, BOUND_S = 30, SOCKETS_MAX = 200 };

/* In the child, where cmocka's assertions would unwind into the parent's tests. */
#define CHECK(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition)) {                                                                          \
                        fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #condition,          \
                                strerror(errno));                                                            \
                        _exit(1);                                                                            \
                }                                                                                            \
        } while (0)

static void in_namespaces(void (*test)(void))
{
        pid_t child = fork();
        int status;
        assert_true(child >= 0);
        if (child == 0) {
                alarm(BOUND_S);
                if (unshare(CLONE_NEWUSER) < 0)
                        _exit(SKIPPED);
                test();
                _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
                skip();
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- what was handed over ---- */

struct handed {
        struct nat_socket head;
        int descriptor;
};
static struct handed handed[SOCKETS_MAX];
static size_t handed_count;
static bool v6;

static void set_up(const struct gateway_plan *plan)
{
        int ends[2];
        struct setup_failure failure = {0};
        int room = 1 << 20;
        CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
        (void)setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
        if (!setup_gateway(plan, ends[0], &failure)) {
                fprintf(stderr, "%s: %s\n", failure.what, strerror(failure.error));
                _exit(1);
        }
        for (;;) {
                CHECK(handed_count < SOCKETS_MAX);
                struct handed *next = &handed[handed_count];
                CHECK(packet_receive_descriptor(ends[1], &next->head, sizeof(next->head),
                                                &next->descriptor) == (ssize_t)sizeof(next->head));
                if (next->head.kind == NAT_SOCKET_END)
                        break;
                CHECK(next->descriptor >= 0 && fcntl(next->descriptor, F_GETFD) == FD_CLOEXEC);
                handed_count++;
        }
        v6 = handed[handed_count].head.port;
        CHECK(handed[handed_count].descriptor == -1);
}

static int find(enum nat_socket_kind kind, uint16_t port)
{
        for (size_t i = 0; i < handed_count; i++)
                if (handed[i].head.kind == kind && handed[i].head.port == port)
                        return handed[i].descriptor;
        fprintf(stderr, "no socket of kind %d for port %u was handed over\n", (int)kind, port);
        _exit(1);
}

static bool readable(int descriptor, int patience)
{
        struct pollfd waits = {.fd = descriptor, .events = POLLIN};
        return poll(&waits, 1, patience) == 1;
}

/* ---- the sandbox ---- */

static socklen_t make_address(const char *text, uint16_t port, struct sockaddr_storage *out)
{
        struct in6_addr parsed;
        CHECK(address_parse(text, &parsed));
        memset(out, 0, sizeof(*out));
        if (strchr(text, ':')) {
                *(struct sockaddr_in6 *)out = (struct sockaddr_in6){
                    .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = parsed};
                return sizeof(struct sockaddr_in6);
        }
        struct sockaddr_in *four = (struct sockaddr_in *)out;
        *four = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
        memcpy(&four->sin_addr, parsed.s6_addr + 12, 4);
        return sizeof(*four);
}

/* A socket connected to an address, or a negative errno. */
static int reach(const char *text, uint16_t port, int type)
{
        struct sockaddr_storage address;
        socklen_t length = make_address(text, port, &address);
        int made = socket(address.ss_family, type | SOCK_CLOEXEC, 0);
        struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
        CHECK(made >= 0);
        /* It bounds connect() too. */
        CHECK(setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) == 0);
        if (connect(made, (struct sockaddr *)&address, length) == 0)
                return made;
        int error = -errno;
        close(made);
        return error;
}

/* A flow to any address arrives at the listener, which can tell where it was meant to go. */
static void check_flow(int listener, const char *text, uint16_t port)
{
        struct in6_addr wanted;
        struct sockaddr_in6 local;
        socklen_t length = sizeof(local);
        char byte = 0;
        int client = reach(text, port, SOCK_STREAM);
        if (client < 0)
                fprintf(stderr, "%s:%u: %s\n", text, port, strerror(-client));
        CHECK(client >= 0);
        CHECK(readable(listener, PATIENCE_MS));
        int accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        CHECK(accepted >= 0 && getsockname(accepted, (struct sockaddr *)&local, &length) == 0);
        CHECK(address_parse(text, &wanted));
        CHECK(ntohs(local.sin6_port) == port);
        if (v6)
                CHECK(IN6_ARE_ADDR_EQUAL(&local.sin6_addr, &wanted));
        CHECK(send(client, "x", 1, MSG_NOSIGNAL) == 1 && recv(accepted, &byte, 1, 0) == 1 && byte == 'x');
        close(client);
        close(accepted);
}

/* A datagram to any address is answered from that address. */
static void check_datagram(int server, const char *text, uint16_t port)
{
        struct packet_ends ends;
        struct in6_addr wanted;
        uint8_t bytes[4];
        int client = reach(text, port, SOCK_DGRAM);
        CHECK(client >= 0 && send(client, "ask", 3, 0) == 3);
        CHECK(readable(server, PATIENCE_MS));
        CHECK(packet_receive(server, bytes, sizeof(bytes), &ends) == 3 && memcmp(bytes, "ask", 3) == 0);
        CHECK(address_parse(text, &wanted) && IN6_ARE_ADDR_EQUAL(&ends.asked, &wanted));
        packet_answer(server, &ends, (const uint8_t *)"told", 4);
        /* A connected socket takes no other address's answer. */
        CHECK(readable(client, PATIENCE_MS) && recv(client, bytes, sizeof(bytes), 0) == 4 &&
              memcmp(bytes, "told", 4) == 0);
        close(client);
}

static void check_refused(const char *text, uint16_t port)
{
        int error = reach(text, port, SOCK_STREAM);
        CHECK(error == -ECONNREFUSED);
}

/* The next attempt that was heard of: its destination port, or 0 when there is none. */
static unsigned next_attempt(int attempts, int patience, uint8_t *protocol)
{
        uint8_t packet[128];
        if (!readable(attempts, patience))
                return 0;
        ssize_t length = recv(attempts, packet, sizeof(packet), 0);
        CHECK(length >= 28);
        size_t header = packet[0] >> 4 == 4 ? (size_t)(packet[0] & 15) * 4 : 40;
        *protocol = packet[packet[0] >> 4 == 4 ? 9 : 6];
        return (unsigned)packet[header + 2] << 8 | packet[header + 3];
}

static void drain(int attempts)
{
        uint8_t protocol;
        while (next_attempt(attempts, 0, &protocol))
                ;
}

/* ---- tests ---- */

static const uint16_t tcp_ports[] = {22, 443}, udp_ports[] = {123}, host_ports[] = {5432};
static const struct gateway_plan usual = {
    .tcp_ports = tcp_ports,
    .tcp_count = COUNT(tcp_ports),
    .udp_ports = udp_ports,
    .udp_count = COUNT(udp_ports),
    .host_ports = host_ports,
    .host_port_count = COUNT(host_ports),
};

static void flows(void)
{
        static const char *const four[] = {"203.0.113.7", "198.18.1.0", "198.19.0.255",
                                           "10.0.0.1",    "1.1.1.1",    NETWORK_GATEWAY4};
        static const char *const six[] = {"2001:db8::7", "fd68:7574:6368:1::1", "fd68:7574:6368:1::ffff",
                                          "fd00::1", NETWORK_GATEWAY6};
        set_up(&usual);
        for (size_t i = 0; i < COUNT(four); i++)
                for (size_t port = 0; port < COUNT(tcp_ports); port++)
                        check_flow(find(NAT_SOCKET_TCP, tcp_ports[port]), four[i], tcp_ports[port]);
        for (size_t i = 0; v6 && i < COUNT(six); i++)
                check_flow(find(NAT_SOCKET_TCP, 443), six[i], 443);
        check_flow(find(NAT_SOCKET_DNS_TCP, 53), "9.9.9.9", 53);
        check_refused("203.0.113.7", 444);
        if (v6)
                check_refused("2001:db8::7", 444);
}

static void test_flows(void **state)
{
        (void)state;
        in_namespaces(flows);
}

static void datagrams(void)
{
        set_up(&usual);
        check_datagram(find(NAT_SOCKET_DNS_UDP, 53), "1.1.1.1", 53);
        check_datagram(find(NAT_SOCKET_DNS_UDP, 53), NETWORK_GATEWAY4, 53);
        check_datagram(find(NAT_SOCKET_UDP, 123), "198.18.1.7", 123);
        if (v6) {
                check_datagram(find(NAT_SOCKET_DNS_UDP, 53), "2001:db8::53", 53);
                check_datagram(find(NAT_SOCKET_UDP, 123), "fd68:7574:6368:1::2", 123);
        }
}

static void test_datagrams(void **state)
{
        (void)state;
        in_namespaces(datagrams);
}

/* The sandbox's own loopback: the host's ports are there, and the gateway's are not. */
static void loopback(void)
{
        int host_port = -1;
        size_t count = 0;
        set_up(&usual);
        for (size_t i = 0; i < handed_count; i++)
                if (handed[i].head.kind == NAT_SOCKET_HOST_PORT) {
                        CHECK(handed[i].head.port == 5432);
                        host_port = count++ == 0 ? handed[i].descriptor : host_port;
                }
        CHECK(count == (v6 ? 2 : 1));
        int client = reach("127.0.0.1", 5432, SOCK_STREAM);
        CHECK(client >= 0 && readable(host_port, PATIENCE_MS));
        if (v6)
                CHECK(reach("::1", 5432, SOCK_STREAM) >= 0);
        if (HAS_VETH) {
                check_refused("127.0.0.1", 443);
                check_refused("203.0.113.7", 5432);
        }
}

static void test_loopback(void **state)
{
        (void)state;
        in_namespaces(loopback);
}

/* A link of its own without any address that would be announced; or none. */
static void links(void)
{
        char line[256];
        set_up(&usual);
        CHECK((if_nametoindex("eth0") != 0) == HAS_VETH);
        CHECK(if_nametoindex("gw0") == 0);
        FILE *addresses = fopen("/proc/self/net/if_inet6", "r");
        while (addresses && fgets(line, sizeof(line), addresses))
                CHECK(strncmp(line, "fe8", 3) != 0);
        if (addresses)
                fclose(addresses);
}

static void test_links(void **state)
{
        (void)state;
        in_namespaces(links);
}

/* What was tried at ports that nothing listens on is heard of, and nothing else. */
static void attempts(void)
{
        uint8_t protocol = 0;
        static const char long_datagram[4000];
        set_up(&usual);
        int watch = find(NAT_SOCKET_ATTEMPTS, 0);
        drain(watch);
        check_flow(find(NAT_SOCKET_TCP, 443), "203.0.113.7", 443);
        check_flow(find(NAT_SOCKET_DNS_TCP, 53), "203.0.113.7", 53);
        check_datagram(find(NAT_SOCKET_DNS_UDP, 53), "203.0.113.7", 53);
        check_datagram(find(NAT_SOCKET_UDP, 123), "203.0.113.7", 123);
        int client = reach("203.0.113.7", 123, SOCK_DGRAM);
        CHECK(client >= 0 &&
              send(client, long_datagram, sizeof(long_datagram), 0) == (ssize_t)sizeof(long_datagram));
        CHECK(readable(find(NAT_SOCKET_UDP, 123), PATIENCE_MS));
        /* A marker: when it has come, what came before it would have come too. */
        check_refused("203.0.113.7", 444);
        CHECK(next_attempt(watch, PATIENCE_MS, &protocol) == 444 && protocol == IPPROTO_TCP);
        /* The port of the other transport counts as another. */
        client = reach("203.0.113.7", 443, SOCK_DGRAM);
        CHECK(client >= 0 && send(client, "x", 1, 0) == 1);
        CHECK(next_attempt(watch, PATIENCE_MS, &protocol) == 443 && protocol == IPPROTO_UDP);
        check_refused("203.0.113.7", 123);
        CHECK(next_attempt(watch, PATIENCE_MS, &protocol) == 123 && protocol == IPPROTO_TCP);
        if (!v6)
                return;
        check_flow(find(NAT_SOCKET_TCP, 443), "2001:db8::7", 443);
        check_refused("2001:db8::7", 445);
        CHECK(next_attempt(watch, PATIENCE_MS, &protocol) == 445 && protocol == IPPROTO_TCP);
        client = reach("2001:db8::7", 443, SOCK_DGRAM);
        CHECK(client >= 0 && send(client, "x", 1, 0) == 1);
        CHECK(next_attempt(watch, PATIENCE_MS, &protocol) == 443 && protocol == IPPROTO_UDP);
}

static void test_attempts(void **state)
{
        (void)state;
        in_namespaces(attempts);
}

/* As many ports as get a listener each: the longest filter. */
static void many_ports(void)
{
        uint16_t ports[NETWORK_PORTS_MAX];
        uint8_t protocol = 0;
        for (size_t i = 0; i < COUNT(ports); i++)
                ports[i] = (uint16_t)(1000 + 2 * i);
        struct gateway_plan plan = {
            .tcp_ports = ports, .tcp_count = COUNT(ports), .udp_ports = ports, .udp_count = COUNT(ports)};
        set_up(&plan);
        int watch = find(NAT_SOCKET_ATTEMPTS, 0);
        drain(watch);
        for (size_t i = 0; i < COUNT(ports); i++) {
                check_flow(find(NAT_SOCKET_TCP, ports[i]), "203.0.113.7", ports[i]);
                check_refused("203.0.113.7", (uint16_t)(ports[i] + 1));
                CHECK(next_attempt(watch, PATIENCE_MS, &protocol) == ports[i] + 1U);
                if (v6)
                        check_flow(find(NAT_SOCKET_TCP, ports[i]), "2001:db8::7", ports[i]);
                check_datagram(find(NAT_SOCKET_UDP, ports[i]), "203.0.113.7", ports[i]);
        }
        CHECK(next_attempt(watch, 0, &protocol) == 0);
}

static void test_many_ports(void **state)
{
        (void)state;
        in_namespaces(many_ports);
}

/* One listener for all of them, which still learns where each flow was meant to go. */
static void every_port(void)
{
        struct gateway_plan plan = {.every_port = true};
        struct setup_failure failure = {0};
        int ends[2];
        pid_t probe = fork();
        int status;
        CHECK(probe >= 0);
        if (probe == 0) {
                CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
                _exit(setup_gateway(&plan, ends[0], &failure) ? 0 : SKIPPED);
        }
        CHECK(waitpid(probe, &status, 0) == probe);
        if (status != 0) /* a kernel without nft_tproxy */
                _exit(WEXITSTATUS(status));
        set_up(&plan);
        static const uint16_t ports[] = {1, 443, 12345, 65535};
        for (size_t i = 0; i < COUNT(ports); i++) {
                check_flow(find(NAT_SOCKET_TCP, 0), "203.0.113.7", ports[i]);
                if (v6)
                        check_flow(find(NAT_SOCKET_TCP, 0), "2001:db8::7", ports[i]);
        }
        check_flow(find(NAT_SOCKET_DNS_TCP, 53), "203.0.113.7", 53);
}

static void test_every_port(void **state)
{
        (void)state;
        in_namespaces(every_port);
}

/* ---- several requests at once ---- */

static void add_up(struct netlink_batch *batch, int index)
{
        struct nlmsghdr *header = netlink_add(batch, RTM_NEWLINK, 0, sizeof(struct ifinfomsg), true);
        struct ifinfomsg *link = mnl_nlmsg_get_payload(header);
        link->ifi_index = index;
        link->ifi_flags = IFF_UP;
        link->ifi_change = IFF_UP;
}

static bool is_up(const char *name)
{
        struct ifreq request = {0};
        autoclose int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
        return any >= 0 && ioctl(any, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP);
}

static void batch_errors(void)
{
        struct netlink_batch batch = {0};
        uint32_t failed = 7;
        CHECK(unshare(CLONE_NEWNET) == 0);
        int requests = netlink_open(NETLINK_ROUTE);
        CHECK(requests >= 0 && fcntl(requests, F_GETFD) == FD_CLOEXEC);
        add_up(&batch, 98);
        CHECK(netlink_run(requests, &batch, &failed) == -ENODEV && failed == 1);
        /* The first that failed is told; those behind it were carried out. */
        CHECK(!is_up("lo"));
        add_up(&batch, 98);
        add_up(&batch, 99);
        add_up(&batch, 1);
        CHECK(netlink_run(requests, &batch, &failed) == -ENODEV && failed == 1);
        CHECK(is_up("lo"));
        add_up(&batch, 1);
        add_up(&batch, 98);
        CHECK(netlink_run(requests, &batch, &failed) == -ENODEV && failed == 2);
        /* It can be used again, and nothing of before is left in the socket. */
        CHECK(batch.length == 0 && batch.count == 0 && batch.last == NULL);
        add_up(&batch, 1);
        CHECK(netlink_run(requests, &batch, &failed) == 0 && failed == 0);
        char byte;
        CHECK(recv(requests, &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
        CHECK(netlink_run(-1, &batch, &failed) == -EBADF);
}

static void test_batch_errors(void **state)
{
        (void)state;
        in_namespaces(batch_errors);
}

static void full_batch(void)
{
        struct netlink_batch batch = {0};
        size_t count = 0;
        uint32_t failed;
        CHECK(unshare(CLONE_NEWNET) == 0);
        while (netlink_add(&batch, RTM_NEWLINK, 0, sizeof(struct ifinfomsg), true))
                count++;
        CHECK(count > 100 && batch.length + 1024 > sizeof(batch.buffer));
        int requests = netlink_open(NETLINK_ROUTE);
        /* None of them names a link. */
        CHECK(requests >= 0 && netlink_run(requests, &batch, &failed) < 0 && failed == 1);
}

static void test_a_full_batch(void **state)
{
        (void)state;
        in_namespaces(full_batch);
}

/* A transaction for a subsystem that the kernel does not have is answered once, for all of it. */
static void refused_transaction(void)
{
        enum { NO_SUBSYSTEM = 200 };
        struct netlink_batch batch = {0};
        uint32_t failed;
        CHECK(unshare(CLONE_NEWNET) == 0);
        int requests = netlink_open(NETLINK_NETFILTER);
        if (requests == -EPROTONOSUPPORT)
                _exit(SKIPPED);
        CHECK(requests >= 0);
        static const uint16_t types[] = {NFNL_MSG_BATCH_BEGIN, NO_SUBSYSTEM << 8, NO_SUBSYSTEM << 8 | 1,
                                         NFNL_MSG_BATCH_END};
        for (size_t i = 0; i < COUNT(types); i++) {
                bool bracket = i == 0 || i == COUNT(types) - 1;
                struct nlmsghdr *header = netlink_add(&batch, types[i], 0, sizeof(struct nfgenmsg), !bracket);
                struct nfgenmsg *family = mnl_nlmsg_get_payload(header);
                family->res_id = bracket ? htons(NO_SUBSYSTEM) : 0;
        }
        CHECK(netlink_run(requests, &batch, &failed) < 0 && failed == 1);
}

static void test_a_refused_transaction(void **state)
{
        (void)state;
        in_namespaces(refused_transaction);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_flows),        cmocka_unit_test(test_datagrams),
            cmocka_unit_test(test_loopback),     cmocka_unit_test(test_links),
            cmocka_unit_test(test_attempts),     cmocka_unit_test(test_many_ports),
            cmocka_unit_test(test_every_port),   cmocka_unit_test(test_batch_errors),
            cmocka_unit_test(test_a_full_batch), cmocka_unit_test(test_a_refused_transaction),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
