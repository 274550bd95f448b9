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
#include <sys/syscall.h>
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

static enum outcome tcp4(void)
{
        struct sockaddr_in address = address4("127.0.0.1", target_number(attempt->text));
        return out_if(connect_to(AF_INET, SOCK_STREAM, &address, sizeof(address)));
}

static enum outcome tcp6(void)
{
        struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                       .sin6_port = htons((uint16_t)target_number(attempt->text)),
                                       .sin6_addr = IN6ADDR_LOOPBACK_INIT};
        return out_if(address.sin6_port && connect_to(AF_INET6, SOCK_STREAM, &address, sizeof(address)));
}

/* Sends a datagram, which could carry a secret out. The decoy answers it. */
static enum outcome udp4(void)
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
enum { CARDS = 1, OWN = 2 };

static int find_interfaces(void)
{
        int found = 0;
        struct if_nameindex *list = if_nameindex();
        autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        for (struct if_nameindex *entry = list; entry && entry->if_index; entry++) {
                struct ifreq request = {0};
                memccpy(request.ifr_name, entry->if_name, 0, sizeof(request.ifr_name) - 1);
                if (strcmp(entry->if_name, "lo") == 0 || ioctl(fd, SIOCGIFFLAGS, &request) < 0 ||
                    !(request.ifr_flags & IFF_UP))
                        continue;
                found |= is_hutch_interface(fd, request) ? OWN : CARDS;
        }
        if (list)
                if_freenameindex(list);
        return found;
}

static enum outcome interfaces(void)
{
        return out_if(find_interfaces() & CARDS);
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
static enum outcome route(void)
{
        struct sockaddr_in address = address4(attempt->text, 53);
        if (!connect_to(AF_INET, SOCK_DGRAM, &address, sizeof(address)))
                return HELD;
        return out_if(find_interfaces() != OWN || is_carried(attempt->text, attempt->number));
}

/* `name`: a path, or an abstract name behind a NUL. */
static bool connect_unix(const char *name, size_t length)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        if (length > sizeof(address.sun_path))
                return false;
        memcpy(address.sun_path, name, length);
        return connect_to(AF_UNIX, SOCK_STREAM, &address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
}

static bool connect_path(const char *path)
{
        if (!path[0] || !connect_unix(path, strlen(path)))
                return false;
        target_note_path(path);
        return true;
}

/* Connects to the decoy `text`, and to the user's socket of that key if the description has one. */
static enum outcome path_socket(void)
{
        char path[128];
        (void)snprintf(path, sizeof(path), "run/%s", attempt->text);
        return out_if(connect_path(target_path(path)) || connect_path(target_text(attempt->text)));
}

static enum outcome granted_socket(void)
{
        bool out = connect_path(target_path(attempt->text));
        return out && attempt->number && target_is_inside() ? NOT_LIMITED : out_if(out);
}

static enum outcome abstract(void)
{
        char name[64] = "";
        int length = snprintf(name + 1, sizeof(name) - 1, "%s", target_text(attempt->text));
        return length > 0 ? out_if(connect_unix(name, 1 + (size_t)length)) : NOT_APPLICABLE;
}

/* ---- families ---- */

static enum outcome open_socket(int family, int type, int protocol)
{
        autoclose int fd = socket(family, type | SOCK_CLOEXEC, protocol);
        return out_if(fd >= 0);
}

static enum outcome rare_families(void)
{
        static const int families[] = {AF_AX25, AF_X25, AF_KEY,     AF_RDS,       AF_PPPOX,
                                       AF_LLC,  AF_CAN, AF_TIPC,    AF_BLUETOOTH, AF_PHONET,
                                       AF_NFC,  AF_KCM, AF_QIPCRTR, AF_SMC,       AF_XDP};
        for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
                for (int type = SOCK_STREAM; type <= SOCK_SEQPACKET; type++)
                        if (open_socket(families[i], type, 0) == GOT_OUT)
                                return GOT_OUT;
        return HELD;
}

static enum outcome rare_protocols(void)
{
        enum { SMC = 256, L2TP = 115 };
        static const int protocols[][2] = {{SOCK_DGRAM, IPPROTO_UDPLITE},
                                           {SOCK_STREAM, IPPROTO_SCTP},
                                           {SOCK_DGRAM, L2TP},
                                           {SOCK_STREAM, SMC}};
        for (size_t i = 0; i < sizeof(protocols) / sizeof(*protocols); i++)
                if (open_socket(AF_INET, protocols[i][0], protocols[i][1]) == GOT_OUT)
                        return GOT_OUT;
        return HELD;
}

/* On a socket without a connection, a layer that exists answers ENOTCONN, and a missing one ENOENT. */
static enum outcome tcp_layer(void)
{
        autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int result = setsockopt(fd, IPPROTO_TCP, TCP_ULP, attempt->text, (socklen_t)strlen(attempt->text));
        return out_if(fd >= 0 && (result == 0 || errno == ENOTCONN));
}

/* ---- shared objects ---- */

static enum outcome shared_memory(void)
{
        int identifier = shmget((key_t)target_number("key"), 0, 0);
        const void *memory = identifier < 0 ? MAP_FAILED : shmat(identifier, NULL, SHM_RDONLY);
        return out_if(memory != MAP_FAILED && target_has_marker(memory, 128));
}

static enum outcome message_queue(void)
{
        return out_if(msgget((key_t)target_number("key"), 0) >= 0);
}

static enum outcome posix_queue(void)
{
        mqd_t queue = mq_open(target_text("queue"), O_RDONLY);
        return out_if(queue != (mqd_t)-1);
}

static enum outcome posix_memory(void)
{
        autoclose int fd = shm_open(target_text("queue"), O_RDONLY, 0);
        return out_if(fd >= 0);
}

static const struct attempt rows[] = {
    {"loopback-tcp", "services on your localhost", AS_CALLER, tcp4, "tcp4"},
    {"loopback-tcp-later", "one that is started later", AS_CALLER, tcp4, "tcp4-later"},
    {"loopback-tcp6", "services on your ::1", AS_CALLER, tcp6, "tcp6"},
    {"loopback-udp", "a datagram to your localhost", AS_CALLER, udp4, "udp4"},
    {"route-out", "a route to the internet", AS_CALLER, route, "192.0.2.1", 443},
    {"metadata-service", "a route to the cloud's metadata", AS_CALLER, route, "169.254.169.254", 80},
    {"interfaces", "the machine's network cards", AS_CALLER, interfaces},
    {"abstract-socket", "services without a path", AS_CALLER, abstract, "abstract"},
    {"abstract-socket-later", "one that is started later", AS_CALLER, abstract, "abstract-later"},
    {"x11-abstract", "your screen and keyboard", AS_CALLER, abstract, "x11-abstract"},
    {"path-socket", "services with a path", AS_CALLER, path_socket, "service"},
    {"path-socket-later", "one that is started later", AS_CALLER, path_socket, "service-later"},
    {"granted-socket", "a service in a writable grant", AS_CALLER, granted_socket, "grant/socket"},
    {"granted-socket-renamed", "a renamed service deep in a grant", AS_CALLER, granted_socket,
     "grant/deep/renamed", 1},
    {"granted-socket-later", "a service started in a grant later", AS_CALLER, granted_socket,
     "grant/socket-later", 1},
    {"session-bus", "your desktop session", AS_CALLER, path_socket, "bus"},
    {"system-bus", "the machine's services", AS_CALLER, path_socket, "system_bus_socket"},
    {"x11", "your screen and keyboard", AS_CALLER, path_socket, "x11"},
    {"wayland", "your screen", AS_CALLER, path_socket, "wayland"},
    {"ssh-agent", "your SSH agent", AS_CALLER, path_socket, "ssh-agent"},
    {"gpg-agent", "your OpenPGP agent", AS_CALLER, path_socket, "gpg-agent"},
    {"container-engine", "root by the container engine", AS_CALLER, path_socket, "docker"},
    {"podman", "containers of yours", AS_CALLER, path_socket, "podman"},
    {"systemd-manager", "a service outside", AS_CALLER, path_socket, "systemd"},
    {"vsock", "the machine's hypervisor", AS_CALLER, CALL(SYS_socket, AF_VSOCK, SOCK_STREAM)},
    {"packet-socket", "others' traffic", IN_USERNS, CALL(SYS_socket, AF_PACKET, SOCK_RAW)},
    {"packet-socket-old", "the same by SOCK_PACKET", IN_USERNS, CALL(SYS_socket, AF_INET, SOCK_PACKET)},
    {"raw-ip", "forged packets", IN_USERNS, CALL(SYS_socket, AF_INET, SOCK_RAW, IPPROTO_ICMP)},
    {"raw-ip6", "forged IPv6 packets", IN_USERNS, CALL(SYS_socket, AF_INET6, SOCK_RAW, IPPROTO_ICMP)},
    {"alg-socket", "the kernel's ciphers", AS_CALLER, CALL(SYS_socket, AF_ALG, SOCK_SEQPACKET)},
    {"netlink-uevent", "the machine's device events", AS_CALLER,
     CALL(SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT)},
    {"netlink-diag", "others' connections", AS_CALLER,
     CALL(SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG)},
    {"netlink-netfilter", "the kernel's firewall code", AS_CALLER,
     CALL(SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER)},
    {"netlink-audit", "the machine's audit", AS_CALLER,
     CALL(SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_AUDIT)},
    {"netlink-crypto", "the kernel's key code", AS_CALLER,
     CALL(SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_CRYPTO)},
    {"netlink-generic", "many of the kernel's interfaces", AS_CALLER,
     CALL(SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_GENERIC)},
    {"rare-families", "seldom used network code", AS_CALLER | IN_USERNS, rare_families},
    {"rare-protocols", "the same by protocols of IP", AS_CALLER, rare_protocols},
    {"tcp-layer", "the kernel's TLS code", AS_CALLER, tcp_layer, "tls"},
    {"sysv-memory", "your processes' shared memory", AS_CALLER, shared_memory},
    {"sysv-queue", "your processes' messages", AS_CALLER, message_queue},
    {"posix-queue", "your processes' named queues", AS_CALLER, posix_queue},
    {"posix-memory", "your processes' named memory", AS_CALLER, posix_memory},
};
const struct attempt_group sockets_group = ATTEMPT_GROUP("network and sockets", rows);
