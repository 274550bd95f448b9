/* SPDX-License-Identifier: Apache-2.0
 *
 * See listeners.h. The sockets of the gateway are bound to the wildcard address: every address is local
 * there, so the wildcard means any destination. Only the sockets of the sandbox's loopback and of
 * --publish, which listens on the host's 127.0.0.1, have an address.
 */
#include "nat/listeners.h"

#include "lib/fd.h"
#include "nat/tproxy.h"
#include "nat/wire.h"
#include "policy/network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23 /* Linux 4.20 */
#endif
#ifndef IPV6_FREEBIND
#define IPV6_FREEBIND 78 /* Linux 4.15 */
#endif

enum {
        BACKLOG = 4096, /* the kernel lowers it to net.core.somaxconn */
        DNS_PORT = 53,
        SNAP = 64, /* bytes of an attempt: the headers of IPv6 and TCP */
};

/* Sends one socket to hutch-nat; `descriptor` stays the caller's. */
static bool send_socket(int link, enum nat_socket_kind kind, uint16_t port, int descriptor)
{
        struct nat_socket head = {.kind = kind, .port = port};
        return fd_send(link, &head, sizeof(head), descriptor) == 0;
}

static int enable(int descriptor, int level, int option)
{
        int on = 1;
        return setsockopt(descriptor, level, option, &on, sizeof(on));
}

/* Makes a socket of this type for `port` of every address, or of the loopback address. With IPv6 one socket
 * serves both families, and IPv4 addresses appear in their mapped form. */
static int make_bound(int type, bool v6, bool loopback, uint16_t port)
{
        autoclose int made = socket(v6 ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (made < 0)
                return -1;
        /* The port can be bound again while connections of an earlier run are in TIME_WAIT. */
        if (type == SOCK_STREAM && enable(made, SOL_SOCKET, SO_REUSEADDR) < 0)
                return -1;
        /* Accepted connections inherit it; connect_set_nodelay() in connect.h says why it is set. */
        if (type == SOCK_STREAM && enable(made, IPPROTO_TCP, TCP_NODELAY) < 0)
                return -1;
        if (type == SOCK_DGRAM &&
            (v6 ? enable(made, IPPROTO_IPV6, IPV6_RECVPKTINFO) : enable(made, IPPROTO_IP, IP_PKTINFO)) < 0)
                return -1;
        /* For the source of an answer IPv6 requires an address of an interface, which an address of a local
         * route is not. */
        if (type == SOCK_DGRAM && v6 && enable(made, IPPROTO_IPV6, IPV6_FREEBIND) < 0)
                return -1;
        struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
        struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
        if (loopback) {
                six.sin6_addr = in6addr_loopback;
                four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        }
        if (v6 ? bind(made, (struct sockaddr *)&six, sizeof(six)) < 0
               : bind(made, (struct sockaddr *)&four, sizeof(four)) < 0)
                return -1;
        if (type == SOCK_STREAM && listen(made, BACKLOG) < 0)
                return -1;
        return fd_take(&made);
}

static bool make_and_send(int link, enum nat_socket_kind kind, int type, bool v6, bool loopback,
                          uint16_t port)
{
        autoclose int made = make_bound(type, v6, loopback, port);
        return made >= 0 && send_socket(link, kind, port, made);
}

/* Makes the listener to which the gateway redirects every port. */
static bool make_tproxy(int link, bool v6)
{
        autoclose int made = make_bound(SOCK_STREAM, v6, false, TPROXY_PORT);
        return made >= 0 && enable(made, IPPROTO_IP, IP_TRANSPARENT) == 0 &&
               (!v6 || enable(made, IPPROTO_IPV6, IPV6_TRANSPARENT) == 0) &&
               send_socket(link, NAT_SOCKET_TCP, 0, made);
}

/* The socket filter for attempts. It passes the first packet of a TCP connection and every datagram, if the
 * port has no listener. */
enum {
        PER_PORT = 2, /* instructions for one port */
        BESIDES = 40, /* what does not depend on the ports */
};
struct filter {
        struct sock_filter code[3 * PER_PORT * (NETWORK_PORTS_MAX + 1) + BESIDES];
        unsigned short length;
};

static void emit(struct filter *filter, uint16_t code, uint32_t operand, uint8_t if_true, uint8_t if_false)
{
        filter->code[filter->length++] = (struct sock_filter){code, if_true, if_false, operand};
}

static void emit_drop(struct filter *filter)
{
        emit(filter, BPF_RET | BPF_K, 0, 0, 0);
}

static void emit_keep(struct filter *filter)
{
        emit(filter, BPF_RET | BPF_K, SNAP, 0, 0);
}

/* Loads the port at `offset` of the transport header and drops packets with one of `ports`. */
static void emit_drop_ports(struct filter *filter, uint32_t offset, const uint16_t *ports, size_t count)
{
        emit(filter, BPF_LD | BPF_H | BPF_IND, offset, 0, 0);
        for (size_t i = 0; i < count; i++) {
                emit(filter, BPF_JMP | BPF_JEQ | BPF_K, ports[i], 0, 1);
                emit_drop(filter);
        }
        emit(filter, BPF_JMP | BPF_JEQ | BPF_K, DNS_PORT, 0, 1);
        emit_drop(filter);
}

/* Loads the protocol, and the offset of the transport header into X; drops what is neither IPv4 nor IPv6, and
 * the later fragments of a datagram: they have no header, and the first one was passed. Attempts with
 * extension headers are rare, and are not reported. */
static const struct sock_filter network_header[] = {
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x60, 8, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x40, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, 0),
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 6),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x1fff, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, 0),
    BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 9),
    BPF_STMT(BPF_JMP | BPF_JA, 2),
    BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, 40), /* NOLINT(misc-redundant-expression): both are 0 */
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 6),
};

static void write_filter(struct filter *filter, const struct gateway_plan *plan)
{
        enum { SOURCE = 0, DESTINATION = 2, FLAGS = 13, SYN = 0x02, ACK = 0x10 };
        memcpy(filter->code, network_header, sizeof(network_header));
        filter->length = sizeof(network_header) / sizeof(*network_header);
        emit(filter, BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 1, 0);
        unsigned short jump = filter->length;
        emit(filter, BPF_JMP | BPF_JA, 0, 0, 0);
        /* Where the sandbox shares the gateway's loopback, the socket also sees the answers of hutch-nat. */
        emit_drop_ports(filter, SOURCE, plan->udp_ports, plan->udp_count);
        emit_drop_ports(filter, DESTINATION, plan->udp_ports, plan->udp_count);
        emit_keep(filter);
        filter->code[jump].k = (uint32_t)(filter->length - jump - 1);
        emit(filter, BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 1, 0);
        emit_drop(filter);
        emit(filter, BPF_LD | BPF_B | BPF_IND, FLAGS, 0, 0);
        emit(filter, BPF_ALU | BPF_AND | BPF_K, SYN | ACK, 0, 0);
        emit(filter, BPF_JMP | BPF_JEQ | BPF_K, SYN, 1, 0);
        emit_drop(filter);
        if (plan->every_port) {
                emit_drop(filter);
                return;
        }
        emit_drop_ports(filter, DESTINATION, plan->tcp_ports, plan->tcp_count);
        emit_keep(filter);
}

static bool watch_attempts(const struct gateway_plan *plan, int link, struct setup_failure *failure)
{
        struct filter filter = {0};
        write_filter(&filter, plan);
        struct sock_fprog program = {.len = filter.length, .filter = filter.code};
        /* A socket without a protocol receives nothing until bind(), which comes after the filter. */
        autoclose int watch = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        struct sockaddr_ll everything = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
        if (watch < 0 || setsockopt(watch, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ||
            enable(watch, SOL_PACKET, PACKET_IGNORE_OUTGOING) < 0 ||
            bind(watch, (struct sockaddr *)&everything, sizeof(everything)) < 0 ||
            !send_socket(link, NAT_SOCKET_ATTEMPTS, 0, watch))
                return setup_fail(failure, "cannot watch for attempts at other ports", 0, errno);
        return true;
}

bool listeners_make(const struct gateway_plan *plan, int link, bool *v6, struct setup_failure *failure)
{
        autoclose int probe = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        *v6 = probe >= 0;
        if (!make_and_send(link, NAT_SOCKET_DNS_UDP, SOCK_DGRAM, *v6, false, DNS_PORT) ||
            !make_and_send(link, NAT_SOCKET_DNS_TCP, SOCK_STREAM, *v6, false, DNS_PORT))
                return setup_fail(failure, "cannot make the resolver's sockets", 0, errno);
        if (plan->every_port && !make_tproxy(link, *v6))
                return setup_fail(failure, "cannot listen for every port", 0, errno);
        for (size_t i = 0; !plan->every_port && i < plan->tcp_count; i++)
                if (!make_and_send(link, NAT_SOCKET_TCP, SOCK_STREAM, *v6, false, plan->tcp_ports[i]))
                        return setup_fail(failure, "cannot listen for flows", plan->tcp_ports[i], errno);
        for (size_t i = 0; i < plan->udp_count; i++)
                if (!make_and_send(link, NAT_SOCKET_UDP, SOCK_DGRAM, *v6, false, plan->udp_ports[i]))
                        return setup_fail(failure, "cannot listen for datagrams", plan->udp_ports[i], errno);
        return watch_attempts(plan, link, failure);
}

bool listeners_make_inner(const struct gateway_plan *plan, int link, bool v6, struct setup_failure *failure)
{
        for (size_t i = 0; i < plan->host_port_count; i++) {
                uint16_t port = plan->host_ports[i];
                if (!make_and_send(link, NAT_SOCKET_HOST_PORT, SOCK_STREAM, false, true, port) ||
                    (v6 && !make_and_send(link, NAT_SOCKET_HOST_PORT, SOCK_STREAM, true, true, port)))
                        return setup_fail(failure, "cannot listen on the sandbox's loopback", port, errno);
        }
        return true;
}

bool listeners_publish(int link, uint16_t host, uint16_t inside)
{
        autoclose int made = make_bound(SOCK_STREAM, false, true, host);
        return made >= 0 && send_socket(link, NAT_SOCKET_PUBLISH, inside, made);
}

bool listeners_end(int link, bool v6, struct setup_failure *failure)
{
        if (send_socket(link, NAT_SOCKET_END, v6, -1))
                return true;
        return setup_fail(failure, "the network helper (hutch-nat) has ended", 0, errno);
}
