/* SPDX-License-Identifier: Apache-2.0
 *
 * hutch-nat: the program. hutch starts it with the descriptors of wire.h, an empty environment and no
 * arguments. It reads its rules, receives its sockets, confines itself and runs the loop until the supervisor
 * is gone. Once confined it must never open a file or start a program; policy/seccomp/nat.json lists the
 * system calls that remain.
 */
#include "lib/fd.h"
#include "lib/str.h"
#include "nat/attempts.h"
#include "nat/dns_server.h"
#include "nat/explain.h"
#include "nat/flow.h"
#include "nat/host_routes.h"
#include "nat/loop.h"
#include "nat/nat.h"
#include "nat/packets.h"
#include "nat/proxy.h"
#include "nat/publish.h"
#include "nat/relay.h"
#include "nat/report.h"
#include "nat/resolve.h"
#include "nat/udp.h"
#include "nat/wire.h"
#include "seccomp-nat.h"
#include "seccomp/program.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LINES_MAX = 64 << 20 }; /* bytes of configuration: a hosts file may be long */

/* The ports of the host's loopback that ports of the sandbox's loopback reach. */
static struct port_pair {
        uint16_t inside, host;
} * host_ports;
static size_t host_port_count;

/* What the supervisor wants beyond the network itself. Only the lines of the start count. */
static struct {
        bool log, explain;
} features;

static _Noreturn void die(const char *what, int error)
{
        report_note("the network helper (hutch-nat) cannot start: %s: %s", what, strerror(error));
        _exit(EXIT_SETUP);
}

static void add_rule(struct destinations *list, enum destination_use use, const char *text)
{
        struct error error = {0};
        if (!destinations_add(list, use, text, &error))
                die(error.text, EINVAL); /* hutch has parsed the rule before */
}

static void add_host_port(const char *text)
{
        unsigned inside, host;
        if (sscanf(text, "%u %u", &inside, &host) != 2)
                die("a host-port line is malformed", errno);
        *array_add(host_ports, host_port_count) = (struct port_pair){(uint16_t)inside, (uint16_t)host};
}

static void apply_line(const char *line)
{
        const char *rest;
        if ((rest = str_after_word(line, "nameserver")))
                resolve_add_server(rest);
        else if ((rest = str_after_word(line, "host")))
                resolve_add_host(rest);
        else if ((rest = str_after_word(line, "allow")))
                add_rule(&nat.rules.allow, DESTINATION_ALLOW, rest);
        else if ((rest = str_after_word(line, "deny")))
                add_rule(&nat.rules.deny, DESTINATION_DENY, rest);
        else if ((rest = str_after_word(line, "host-port")))
                add_host_port(rest);
        else if ((rest = str_after_word(line, "proxy")))
                proxy_configure(rest);
        else if ((rest = str_after_word(line, "no-proxy")))
                proxy_except(rest);
        else if (str_equal(line, "log"))
                features.log = true;
        else if (str_equal(line, "explain"))
                features.explain = true;
}

/* Applies every line of a memory file and closes it. */
static void read_configuration(int descriptor)
{
        autofree char *lines = NULL;
        ssize_t length =
            lseek(descriptor, 0, SEEK_SET) < 0 ? -errno : fd_read_all(descriptor, LINES_MAX, &lines);
        close(descriptor);
        if (length < 0)
                die("its rules cannot be read", (int)-length);
        char *position = NULL;
        resolve_configure_begin();
        for (char *line = strtok_r(lines, "\n", &position); line; line = strtok_r(NULL, "\n", &position))
                apply_line(line);
        resolve_configure_end();
}

static uint16_t host_port_of(uint16_t inside)
{
        for (size_t i = 0; i < host_port_count; i++)
                if (host_ports[i].inside == inside)
                        return host_ports[i].host;
        return inside;
}

static void serve_socket(const struct nat_socket *head, int descriptor)
{
        uint16_t port = (uint16_t)head->port;
        switch ((enum nat_socket_kind)head->kind) {
        case NAT_SOCKET_DNS_UDP:
                dns_server_add_udp(descriptor);
                return;
        case NAT_SOCKET_DNS_TCP:
                dns_server_add_tcp(descriptor);
                return;
        case NAT_SOCKET_TCP:
                flow_serve(descriptor, 0);
                return;
        case NAT_SOCKET_UDP:
                udp_serve(descriptor, port);
                return;
        case NAT_SOCKET_HOST_PORT:
                flow_serve(descriptor, host_port_of(port));
                return;
        case NAT_SOCKET_ATTEMPTS:
                attempts_watch(descriptor);
                return;
        case NAT_SOCKET_PUBLISH:
                publish_serve(descriptor, port);
                return;
        case NAT_SOCKET_END:
                nat.v6 = port != 0;
                return;
        }
}

/* Receives the sockets from the child that enters the sandbox. The child does not wait for hutch-nat: it may
 * have ended before they are read. */
static void receive_sockets(void)
{
        struct nat_socket head;
        int descriptor;
        do {
                if (packet_receive_descriptor(NAT_SETUP, &head, sizeof(head), &descriptor) != sizeof(head))
                        _exit(0); /* the sandbox was not made; hutch reports why */
                serve_socket(&head, descriptor);
        } while (head.kind != NAT_SOCKET_END);
        close(NAT_SETUP);
}

static void supervisor_ready(struct source *source)
{
        struct nat_message head;
        int descriptor;
        if (packet_receive_descriptor(source->descriptor, &head, sizeof(head), &descriptor) != sizeof(head))
                _exit(0); /* hutch has ended, and the sandbox with it */
        if (head.type == NAT_FINISH) {
                report_finish();
                flow_end_all("the sandbox ended");
                udp_end_all("the sandbox ended");
                _exit(0);
        }
        if (head.type == NAT_RESOLVER && descriptor >= 0)
                read_configuration(descriptor);
        else
                fd_close(&descriptor);
}

/* hutch-nat keeps no capability of a caller that is root. */
static int drop_capabilities(void)
{
        struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
        return (int)syscall(SYS_capset, &head, none);
}

static void confine(void)
{
        struct seccomp_program filter = {.code = program_nat,
                                         .length = sizeof(program_nat) / sizeof(*program_nat)};
        if (drop_capabilities() < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                die("it cannot confine itself", errno);
        int error = seccomp_install(&filter);
        if (error < 0)
                die("its system call filter cannot be loaded", -error);
}

static void prepare(void)
{
        struct rlimit limit;
        signal(SIGPIPE, SIG_IGN);
        (void)prctl(PR_SET_NAME, "hutch-nat", 0, 0, 0);
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0)
                die("it cannot prepare its process", errno);
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
        if (!nat_start(limit.rlim_cur) || !loop_start() || !resolve_start())
                die("it cannot start its loop and resolver", errno);
        if (!relay_prepare())
                die("it cannot make a pipe", errno);
        if (!host_routes_open())
                die("it cannot open a netlink socket", errno);
}

int main(void)
{
        static struct source supervisor;
        report_start(NAT_SUPERVISOR, false);
        prepare();
        read_configuration(NAT_RULES);
        report_start(NAT_SUPERVISOR, features.log);
        if (!source_add(&supervisor, NAT_SUPERVISOR, EPOLLIN, supervisor_ready) ||
            (features.explain && !explain_serve()))
                die("it cannot watch its descriptors", errno);
        receive_sockets();
        confine();
        report_ready();
        loop_run();
}
