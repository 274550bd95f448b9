/* SPDX-License-Identifier: Apache-2.0
 *
 * Attempts to reach the network, the host's services and its shared objects. Listening decoys are the proof.
 * An attempt only connects to a real service of the host and sends nothing.
 */
#include "prove/attempts.h"

#include "lib/fd.h"
#include "policy/network.h"
#include "prove/target.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <mqueue.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { WAIT_MS = 500 };

static bool connect_to(int family, int type, const void *address, socklen_t length)
{
        autoclose int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return false;
        if (connect(fd, address, length) == 0)
                return true;
        if (errno != EINPROGRESS)
                return false;
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        int error = 0;
        socklen_t size = sizeof(error);
        return poll(&ready, 1, WAIT_MS) == 1 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 &&
               error == 0;
}

static struct sockaddr_in address4(const char *text, long port)
{
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
        (void)inet_pton(AF_INET, text, &address.sin_addr);
        return address;
}

static enum outcome tcp4(const struct attempt *attempt)
{
        struct sockaddr_in address = address4("127.0.0.1", target_number(attempt->text));
        return out_if(connect_to(AF_INET, SOCK_STREAM, &address, sizeof(address)));
}

static enum outcome tcp6(const struct attempt *attempt)
{
        struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                       .sin6_port = htons((uint16_t)target_number(attempt->text)),
                                       .sin6_addr = IN6ADDR_LOOPBACK_INIT};
        return out_if(address.sin6_port && connect_to(AF_INET6, SOCK_STREAM, &address, sizeof(address)));
}

/* Sends a datagram, which could carry a secret out. The decoy answers it. */
static enum outcome udp4(const struct attempt *attempt)
{
        struct sockaddr_in address = address4("127.0.0.1", target_number(attempt->text));
        autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        (void)sendto(fd, "x", 1, 0, (const struct sockaddr *)&address, sizeof(address));
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        return out_if(poll(&ready, 1, target_is_inside() ? 50 : WAIT_MS) == 1 && ready.revents & POLLIN);
}

/* True for the sandbox's interface, which leads to hutch-nat only. No host has its address. */
static bool is_hutch_interface(int fd, struct ifreq request)
{
        struct sockaddr_in own = address4(NETWORK_SANDBOX4, 0), found;
        if (!target_is_inside() || ioctl(fd, SIOCGIFADDR, &request) < 0)
                return false;
        memcpy(&found, &request.ifr_addr, sizeof(found));
        return found.sin_family == AF_INET && found.sin_addr.s_addr == own.sin_addr.s_addr;
}

/* Looks which interfaces are up beside the loopback: cards of the machine, and hutch's. Those that are down
 * do not count: tunnel drivers put one into every new network namespace. */
static void find_interfaces(bool *cards, bool *own)
{
        struct if_nameindex *list = if_nameindex();
        autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        *cards = *own = false;
        for (struct if_nameindex *entry = list; entry && entry->if_index; entry++) {
                struct ifreq request = {0};
                memccpy(request.ifr_name, entry->if_name, 0, sizeof(request.ifr_name) - 1);
                if (strcmp(entry->if_name, "lo") == 0 || ioctl(fd, SIOCGIFFLAGS, &request) < 0 ||
                    !(request.ifr_flags & IFF_UP))
                        continue;
                *(is_hutch_interface(fd, request) ? own : cards) = true;
        }
        if (list)
                if_freenameindex(list);
}

static enum outcome interfaces(const struct attempt *attempt)
{
        bool cards, own;
        (void)attempt;
        find_interfaces(&cards, &own);
        return out_if(cards);
}

/* True when a connection gets out. hutch-nat accepts every connection, and resets a refused one when its
 * client has sent something. So one that is neither answered nor reset was passed on. */
static bool is_carried(const char *text, long port)
{
        static const char request[] = "HEAD / HTTP/1.0\r\n\r\n";
        struct sockaddr_in address = address4(text, port);
        struct timeval patience = {.tv_sec = 1, .tv_usec = 500000}; /* less than an attempt has */
        char answer;
        autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
            setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
                return false;
        if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
                return errno == EINPROGRESS;
        if (send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0)
                return false;
        return recv(fd, &answer, 1, 0) >= 0 || errno == EAGAIN;
}

/* Looks for a route by connecting a datagram socket, which sends nothing. hutch-nat always provides a route,
 * so behind it a connection to the port must get out. */
static enum outcome route(const struct attempt *attempt)
{
        bool cards, own;
        struct sockaddr_in address = address4(attempt->text, 53);
        if (!connect_to(AF_INET, SOCK_DGRAM, &address, sizeof(address)))
                return HELD;
        find_interfaces(&cards, &own);
        return out_if(!own || cards || is_carried(attempt->text, attempt->number));
}

static bool connect_path(const char *path)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        if (!path[0] || strlen(path) >= sizeof(address.sun_path))
                return false;
        memcpy(address.sun_path, path, strlen(path));
        if (!connect_to(AF_UNIX, SOCK_STREAM, &address, sizeof(address)))
                return false;
        target_note_path(path);
        return true;
}

/* Connects to the decoy `text`, and to the user's socket of that key if the description has one. */
static enum outcome path_socket(const struct attempt *attempt)
{
        char path[128];
        (void)snprintf(path, sizeof(path), "run/%s", attempt->text);
        return out_if(connect_path(target_path(path)) || connect_path(target_text(attempt->text)));
}

static enum outcome granted_socket(const struct attempt *attempt)
{
        bool out = connect_path(target_path(attempt->text));
        return out && attempt->number && target_is_inside() ? NOT_LIMITED : out_if(out);
}

static enum outcome abstract(const struct attempt *attempt)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        const char *name = target_text(attempt->text);
        size_t length = strlen(name);
        if (!length || length + 1 > sizeof(address.sun_path))
                return NOT_APPLICABLE;
        memcpy(address.sun_path + 1, name, length);
        return out_if(connect_to(AF_UNIX, SOCK_STREAM, &address,
                                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)));
}

/* ---- families ---- */

static enum outcome open_socket(int family, int type, int protocol)
{
        autoclose int fd = socket(family, type | SOCK_CLOEXEC, protocol);
        return out_if(fd >= 0);
}

/* `number`: the family; `text`: "raw", or NULL for a stream. */
static enum outcome family(const struct attempt *attempt)
{
        return open_socket((int)attempt->number, attempt->text ? SOCK_RAW : SOCK_STREAM, 0);
}

static enum outcome packet(const struct attempt *attempt)
{
        return open_socket(attempt->number == AF_INET ? AF_INET : AF_PACKET, SOCK_PACKET, 0);
}

static enum outcome raw_ip(const struct attempt *attempt)
{
        return open_socket((int)attempt->number, SOCK_RAW, IPPROTO_ICMP);
}

static enum outcome algorithm(const struct attempt *attempt)
{
        (void)attempt;
        return open_socket(AF_ALG, SOCK_SEQPACKET, 0);
}

static enum outcome netlink(const struct attempt *attempt)
{
        return open_socket(AF_NETLINK, SOCK_RAW, (int)attempt->number);
}

static enum outcome rare_families(const struct attempt *attempt)
{
        static const int families[] = {AF_AX25, AF_X25, AF_KEY,     AF_RDS,       AF_PPPOX,
                                       AF_LLC,  AF_CAN, AF_TIPC,    AF_BLUETOOTH, AF_PHONET,
                                       AF_NFC,  AF_KCM, AF_QIPCRTR, AF_SMC,       AF_XDP};
        (void)attempt;
        for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
                for (int type = SOCK_STREAM; type <= SOCK_SEQPACKET; type++)
                        if (open_socket(families[i], type, 0) == GOT_OUT)
                                return GOT_OUT;
        return HELD;
}

static enum outcome rare_protocols(const struct attempt *attempt)
{
        enum { SMC = 256, L2TP = 115 };
        static const int protocols[][2] = {{SOCK_DGRAM, IPPROTO_UDPLITE},
                                           {SOCK_STREAM, IPPROTO_SCTP},
                                           {SOCK_DGRAM, L2TP},
                                           {SOCK_STREAM, SMC}};
        (void)attempt;
        for (size_t i = 0; i < sizeof(protocols) / sizeof(*protocols); i++)
                if (open_socket(AF_INET, protocols[i][0], protocols[i][1]) == GOT_OUT)
                        return GOT_OUT;
        return HELD;
}

/* On a socket without a connection, a layer that exists answers ENOTCONN, and a missing one ENOENT. */
static enum outcome tcp_layer(const struct attempt *attempt)
{
        autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int result = setsockopt(fd, IPPROTO_TCP, TCP_ULP, attempt->text, (socklen_t)strlen(attempt->text));
        return out_if(fd >= 0 && (result == 0 || errno == ENOTCONN));
}

/* ---- shared objects ---- */

static enum outcome shared_memory(const struct attempt *attempt)
{
        (void)attempt;
        int identifier = shmget((key_t)target_number("key"), 0, 0);
        const void *memory = identifier < 0 ? MAP_FAILED : shmat(identifier, NULL, SHM_RDONLY);
        return out_if(memory != MAP_FAILED && target_has_marker(memory, 128));
}

static enum outcome message_queue(const struct attempt *attempt)
{
        (void)attempt;
        return out_if(msgget((key_t)target_number("key"), 0) >= 0);
}

static enum outcome posix_queue(const struct attempt *attempt)
{
        (void)attempt;
        mqd_t queue = mq_open(target_text("queue"), O_RDONLY);
        return out_if(queue != (mqd_t)-1);
}

static enum outcome posix_memory(const struct attempt *attempt)
{
        (void)attempt;
        autoclose int fd = shm_open(target_text("queue"), O_RDONLY, 0);
        return out_if(fd >= 0);
}

static const struct attempt rows[] = {
    {"loopback-tcp", "services on your localhost", SHOW_AS_CALLER, tcp4, "tcp4", 0},
    {"loopback-tcp-later", "one that is started later", SHOW_AS_CALLER, tcp4, "tcp4-later", 0},
    {"loopback-tcp6", "services on your ::1", SHOW_AS_CALLER, tcp6, "tcp6", 0},
    {"loopback-udp", "a datagram to your localhost", SHOW_AS_CALLER, udp4, "udp4", 0},
    {"route-out", "a route to the internet", SHOW_AS_CALLER, route, "192.0.2.1", 443},
    {"metadata-service", "a route to the cloud's metadata", SHOW_AS_CALLER, route, "169.254.169.254", 80},
    {"interfaces", "the machine's network cards", SHOW_AS_CALLER, interfaces, NULL, 0},
    {"abstract-socket", "services without a path", SHOW_AS_CALLER, abstract, "abstract", 0},
    {"abstract-socket-later", "one that is started later", SHOW_AS_CALLER, abstract, "abstract-later", 0},
    {"x11-abstract", "your screen and keyboard", SHOW_AS_CALLER, abstract, "x11-abstract", 0},
    {"path-socket", "services with a path", SHOW_AS_CALLER, path_socket, "service", 0},
    {"path-socket-later", "one that is started later", SHOW_AS_CALLER, path_socket, "service-later", 0},
    {"granted-socket", "a service in a writable grant", SHOW_AS_CALLER, granted_socket, "grant/socket", 0},
    {"granted-socket-renamed", "a renamed service deep in a grant", SHOW_AS_CALLER, granted_socket,
     "grant/deep/renamed", 1},
    {"granted-socket-later", "a service started in a grant later", SHOW_AS_CALLER, granted_socket,
     "grant/socket-later", 1},
    {"session-bus", "your desktop session", SHOW_AS_CALLER, path_socket, "bus", 0},
    {"system-bus", "the machine's services", SHOW_AS_CALLER, path_socket, "system_bus_socket", 0},
    {"x11", "your screen and keyboard", SHOW_AS_CALLER, path_socket, "x11", 0},
    {"wayland", "your screen", SHOW_AS_CALLER, path_socket, "wayland", 0},
    {"ssh-agent", "your SSH agent", SHOW_AS_CALLER, path_socket, "ssh-agent", 0},
    {"gpg-agent", "your OpenPGP agent", SHOW_AS_CALLER, path_socket, "gpg-agent", 0},
    {"container-engine", "root by the container engine", SHOW_AS_CALLER, path_socket, "docker", 0},
    {"podman", "containers of yours", SHOW_AS_CALLER, path_socket, "podman", 0},
    {"systemd-manager", "a service outside", SHOW_AS_CALLER, path_socket, "systemd", 0},
    {"vsock", "the machine's hypervisor", SHOW_AS_CALLER, family, NULL, AF_VSOCK},
    {"packet-socket", "others' traffic", SHOW_IN_USERNS, family, "raw", AF_PACKET},
    {"packet-socket-old", "the same by SOCK_PACKET", SHOW_IN_USERNS, packet, NULL, AF_INET},
    {"raw-ip", "forged packets", SHOW_IN_USERNS, raw_ip, NULL, AF_INET},
    {"raw-ip6", "forged IPv6 packets", SHOW_IN_USERNS, raw_ip, NULL, AF_INET6},
    {"alg-socket", "the kernel's ciphers", SHOW_AS_CALLER, algorithm, NULL, 0},
    {"netlink-uevent", "the machine's device events", SHOW_AS_CALLER, netlink, NULL, NETLINK_KOBJECT_UEVENT},
    {"netlink-diag", "others' connections", SHOW_AS_CALLER, netlink, NULL, NETLINK_SOCK_DIAG},
    {"netlink-netfilter", "the kernel's firewall code", SHOW_AS_CALLER, netlink, NULL, NETLINK_NETFILTER},
    {"netlink-audit", "the machine's audit", SHOW_AS_CALLER, netlink, NULL, NETLINK_AUDIT},
    {"netlink-crypto", "the kernel's key code", SHOW_AS_CALLER, netlink, NULL, NETLINK_CRYPTO},
    {"netlink-generic", "many of the kernel's interfaces", SHOW_AS_CALLER, netlink, NULL, NETLINK_GENERIC},
    {"rare-families", "seldom used network code", SHOW_AS_CALLER | SHOW_IN_USERNS, rare_families, NULL, 0},
    {"rare-protocols", "the same by protocols of IP", SHOW_AS_CALLER, rare_protocols, NULL, 0},
    {"tcp-layer", "the kernel's TLS code", SHOW_AS_CALLER, tcp_layer, "tls", 0},
    {"sysv-memory", "your processes' shared memory", SHOW_AS_CALLER, shared_memory, NULL, 0},
    {"sysv-queue", "your processes' messages", SHOW_AS_CALLER, message_queue, NULL, 0},
    {"posix-queue", "your processes' named queues", SHOW_AS_CALLER, posix_queue, NULL, 0},
    {"posix-memory", "your processes' named memory", SHOW_AS_CALLER, posix_memory, NULL, 0},
};
const struct attempt_group sockets_group = ATTEMPT_GROUP("network and sockets", rows);
