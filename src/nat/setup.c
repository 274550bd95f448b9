/* SPDX-License-Identifier: Apache-2.0
 *
 * See setup.h. This module uses rtnetlink(7) through libmnl; no `ip`, no ioctl.
 *
 * Theory of operation. The sandbox's namespace has `eth0`, the gateway namespace the other end, `gw0`. In the
 * gateway a `local` route covers every address, so the kernel itself terminates every flow of the sandbox in
 * a wildcard socket, and getsockname() returns the destination that the sandbox meant. Nothing is forwarded:
 * the gateway has no other interface, and the kernel refuses at once what has no listener. The sockets are
 * made here and then belong to hutch-nat, which runs in the host's namespace.
 *
 * Both ends have the same hardware address and do no ARP, so the first packet leaves without a question.
 */
#include "nat/setup.h"

#include "lib/fd.h"
#include "nat/listeners.h"
#include "nat/netlink.h"
#include "nat/tproxy.h"
#include "policy/network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

/* The kernel gives `lo` the first index of every namespace. The two ends differ, because a link whose peer
 * has the same index counts as one without a peer. */
enum { LOOPBACK = 1, SANDBOX_LINK = 2, GATEWAY_LINK = 3 };
enum { UP_WAIT_MS = 2000, LINK_MTU = 65535 };

#ifndef SETUP_LINK_KIND
#define SETUP_LINK_KIND "veth" /* a test names a kind that no kernel has */
#endif

static const uint8_t hardware_address[6] = {0x02, 0, 0, 0, 0, 0x01};

static struct ifinfomsg *add_link(struct netlink_batch *batch, uint16_t flags, int index)
{
        struct nlmsghdr *header = netlink_add(batch, RTM_NEWLINK, flags, sizeof(struct ifinfomsg), true);
        struct ifinfomsg *link = mnl_nlmsg_get_payload(header);
        link->ifi_family = AF_UNSPEC;
        link->ifi_index = index;
        return link;
}

static void add_up(struct netlink_batch *batch, int index)
{
        struct ifinfomsg *link = add_link(batch, 0, index);
        link->ifi_flags = link->ifi_change = IFF_UP;
}

/* No link-local address: the kernel would announce it and wait for it. */
static void add_no_own_addresses(struct netlink_batch *batch, int index)
{
        add_link(batch, 0, index);
        struct nlattr *families = mnl_attr_nest_start(batch->last, IFLA_AF_SPEC);
        struct nlattr *family = mnl_attr_nest_start(batch->last, AF_INET6);
        mnl_attr_put_u8(batch->last, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
        mnl_attr_nest_end(batch->last, family);
        mnl_attr_nest_end(batch->last, families);
}

static void describe_end(struct nlmsghdr *header, struct ifinfomsg *link, const char *name)
{
        link->ifi_flags = link->ifi_change = IFF_NOARP;
        mnl_attr_put_strz(header, IFLA_IFNAME, name);
        mnl_attr_put(header, IFLA_ADDRESS, sizeof(hardware_address), hardware_address);
        /* As large as possible, like that of lo: no network between the ends limits the size of packets. */
        mnl_attr_put_u32(header, IFLA_MTU, LINK_MTU);
}

static void add_pair(struct netlink_batch *batch, int gateway)
{
        struct ifinfomsg *link = add_link(batch, NLM_F_CREATE | NLM_F_EXCL, SANDBOX_LINK);
        struct nlmsghdr *header = batch->last;
        describe_end(header, link, "eth0");
        struct nlattr *info = mnl_attr_nest_start(header, IFLA_LINKINFO);
        mnl_attr_put_strz(header, IFLA_INFO_KIND, SETUP_LINK_KIND);
        struct nlattr *data = mnl_attr_nest_start(header, IFLA_INFO_DATA);
        struct nlattr *peer = mnl_attr_nest_start(header, VETH_INFO_PEER);
        struct ifinfomsg *other = mnl_nlmsg_put_extra_header(header, sizeof(*other));
        other->ifi_index = GATEWAY_LINK;
        describe_end(header, other, "gw0");
        mnl_attr_put_u32(header, IFLA_NET_NS_FD, (uint32_t)gateway);
        mnl_attr_nest_end(header, peer);
        mnl_attr_nest_end(header, data);
        mnl_attr_nest_end(header, info);
}

static void put_address(struct nlmsghdr *header, uint16_t type, const char *text)
{
        uint8_t address[16];
        bool v6 = strchr(text, ':') != NULL;
        inet_pton(v6 ? AF_INET6 : AF_INET, text, address);
        mnl_attr_put(header, type, v6 ? 16 : 4, address);
}

static void add_address(struct netlink_batch *batch, int index, const char *text, uint8_t prefix)
{
        struct nlmsghdr *header =
            netlink_add(batch, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, sizeof(struct ifaddrmsg), true);
        struct ifaddrmsg *address = mnl_nlmsg_get_payload(header);
        address->ifa_family = strchr(text, ':') ? AF_INET6 : AF_INET;
        address->ifa_prefixlen = prefix;
        address->ifa_flags = IFA_F_NODAD;
        address->ifa_index = (uint32_t)index;
        put_address(header, IFA_LOCAL, text);
        put_address(header, IFA_ADDRESS, text);
}

/* Adds a route of `family` to `destination`/`prefix` (NULL: to everything) through `gateway` (NULL:
 * directly). */
static void add_route(struct netlink_batch *batch, int family, uint8_t table, uint8_t type, int index,
                      const char *destination, uint8_t prefix, const char *gateway)
{
        struct nlmsghdr *header =
            netlink_add(batch, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, sizeof(struct rtmsg), true);
        struct rtmsg *route = mnl_nlmsg_get_payload(header);
        route->rtm_family = (uint8_t)family;
        route->rtm_dst_len = prefix;
        route->rtm_table = table;
        route->rtm_protocol = RTPROT_STATIC;
        route->rtm_scope = type == RTN_LOCAL ? RT_SCOPE_HOST : gateway ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK;
        route->rtm_type = type;
        if (destination)
                put_address(header, RTA_DST, destination);
        if (gateway)
                put_address(header, RTA_GATEWAY, gateway);
        mnl_attr_put_u32(header, RTA_OIF, (uint32_t)index);
}

/* `what`: what the user reads when a request fails. */
static bool run_batch(int socket_, struct netlink_batch *batch, struct setup_failure *failure,
                      const char *what)
{
        uint32_t failed;
        int error = netlink_run(socket_, batch, &failed);
        return error == 0 || setup_fail(failure, what, 0, error);
}

int setup_loopback(void)
{
        autoclose int socket_ = netlink_open(NETLINK_ROUTE);
        if (socket_ < 0)
                return socket_;
        struct netlink_batch batch = {0};
        uint32_t failed;
        add_up(&batch, LOOPBACK);
        return netlink_run(socket_, &batch, &failed);
}

/* Addresses, routes and the link of the gateway, once the pair exists; address_sandbox() does the same for
 * the sandbox. */
static bool address_gateway(int socket_, bool v6, struct setup_failure *failure)
{
        struct netlink_batch batch = {0};
        if (v6)
                add_no_own_addresses(&batch, GATEWAY_LINK);
        add_up(&batch, GATEWAY_LINK);
        add_route(&batch, AF_INET, RT_TABLE_LOCAL, RTN_UNICAST, GATEWAY_LINK, NETWORK_SANDBOX4, 32, NULL);
        add_route(&batch, AF_INET, RT_TABLE_LOCAL, RTN_LOCAL, LOOPBACK, NULL, 0, NULL);
        if (v6) {
                add_address(&batch, GATEWAY_LINK, NETWORK_GATEWAY6, 128);
                add_route(&batch, AF_INET6, RT_TABLE_MAIN, RTN_UNICAST, GATEWAY_LINK, NETWORK_SANDBOX6, 128,
                          NULL);
                add_route(&batch, AF_INET6, RT_TABLE_MAIN, RTN_LOCAL, LOOPBACK, NULL, 0, NULL);
        }
        return run_batch(socket_, &batch, failure, "cannot set up the gateway's routes");
}

static bool address_sandbox(int socket_, bool v6, struct setup_failure *failure)
{
        struct netlink_batch batch = {0};
        if (v6)
                add_no_own_addresses(&batch, SANDBOX_LINK);
        add_up(&batch, SANDBOX_LINK);
        add_address(&batch, SANDBOX_LINK, NETWORK_SANDBOX4, 15);
        add_route(&batch, AF_INET, RT_TABLE_MAIN, RTN_UNICAST, SANDBOX_LINK, NULL, 0, NETWORK_GATEWAY4);
        if (v6) {
                add_address(&batch, SANDBOX_LINK, NETWORK_SANDBOX6, 64);
                /* The kernel's own route to the address comes later, from a thread, and packets before it
                 * would be lost. */
                add_route(&batch, AF_INET6, RT_TABLE_LOCAL, RTN_LOCAL, SANDBOX_LINK, NETWORK_SANDBOX6, 128,
                          NULL);
                add_route(&batch, AF_INET6, RT_TABLE_MAIN, RTN_UNICAST, SANDBOX_LINK, NULL, 0,
                          NETWORK_GATEWAY6);
        }
        return run_batch(socket_, &batch, failure, "cannot set up the sandbox's routes");
}

static int note_state(const struct nlattr *attribute, void *state)
{
        if (mnl_attr_get_type(attribute) == IFLA_OPERSTATE)
                *(int *)state = mnl_attr_get_u8(attribute);
        return MNL_CB_OK;
}

/* True when a link message says that link `index` is up. */
static bool says_up(const char *messages, size_t length, int index)
{
        int left = (int)length;
        for (const struct nlmsghdr *header = (const struct nlmsghdr *)messages; mnl_nlmsg_ok(header, left);
             header = mnl_nlmsg_next(header, &left)) {
                const struct ifinfomsg *link = mnl_nlmsg_get_payload(header);
                int state = -1;
                if (header->nlmsg_type != RTM_NEWLINK || link->ifi_index != index)
                        continue;
                (void)mnl_attr_parse(header, sizeof(*link), note_state, &state);
                if (state == IF_OPER_UP)
                        return true;
        }
        return false;
}

/* Whether link `index` is up now. Since Linux 6.8 the question itself makes the link watch process the link,
 * so that the answer matches what the link can do. Before, only a kernel thread does that, and it may have to
 * wait for its turn. */
static bool is_up(int requests, int index)
{
        alignas(NLMSG_ALIGNTO) char answer[8192];
        struct netlink_batch batch = {0};
        netlink_add(&batch, RTM_GETLINK, 0, sizeof(struct ifinfomsg), false);
        struct ifinfomsg *link = mnl_nlmsg_get_payload(batch.last);
        link->ifi_index = index;
        if (send(requests, batch.last, batch.last->nlmsg_len, 0) < 0)
                return false;
        ssize_t length = recv(requests, answer, sizeof(answer), MSG_DONTWAIT);
        return length > 0 && says_up(answer, (size_t)length, index);
}

/* Waits until link `index` is up. Until the kernel's link watch has run, a new link drops packets, and a
 * dropped first SYN costs a second. `watch` has received every change since before the link was set up. */
static bool wait_up(int requests, int watch, int index, struct setup_failure *failure)
{
        alignas(NLMSG_ALIGNTO) char messages[8192];
        struct pollfd heard = {.fd = watch, .events = POLLIN};
        if (is_up(requests, index))
                return true;
        for (;;) {
                int ready = poll(&heard, 1, UP_WAIT_MS);
                if (ready < 0 && errno == EINTR)
                        continue;
                if (ready <= 0)
                        return setup_fail(failure, "the sandbox's link did not come up", 0,
                                          ready ? errno : ETIMEDOUT);
                ssize_t length = recv(watch, messages, sizeof(messages), 0);
                if (length > 0 && says_up(messages, (size_t)length, index))
                        return true;
        }
}

static int open_link_watch(void)
{
        int socket_ = netlink_open(NETLINK_ROUTE);
        int group = RTNLGRP_LINK;
        if (socket_ >= 0)
                (void)setsockopt(socket_, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group));
        return socket_;
}

/* What keeps the gateway reachable after the caller has left its namespace. */
struct gateway {
        int namespace;
        int requests; /* rtnetlink sockets stay in the namespace they were made in */
        int watch;
        bool v6;
};

static bool make_gateway(const struct gateway_plan *plan, int link, struct gateway *gateway,
                         struct setup_failure *failure)
{
        if (unshare(CLONE_NEWNET) < 0)
                return setup_fail(failure, "cannot make the gateway's network namespace", 0, errno);
        int error = setup_loopback();
        if (error < 0)
                return setup_fail(failure, "cannot set up the gateway's loopback", 0, error);
        gateway->namespace = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
        gateway->requests = netlink_open(NETLINK_ROUTE);
        gateway->watch = open_link_watch();
        if (gateway->namespace < 0 || gateway->requests < 0 || gateway->watch < 0)
                return setup_fail(failure, "cannot hold the gateway's network namespace", 0, errno);
        if (!listeners_make(plan, link, &gateway->v6, failure))
                return false;
        error = plan->every_port ? tproxy_redirect(TPROXY_PORT) : 0;
        return error == 0 ||
               setup_fail(failure,
                          "cannot redirect every port (nftables with tproxy); allow 64 ports or fewer", 0,
                          error);
}

/* For a kernel without veth: the sandbox shares the namespace of the gateway, where every address is local
 * too. The only difference is that the sandbox can bind a port that hutch-nat does not listen on, for itself
 * alone. */
static bool share_gateway(const struct gateway *gateway, struct setup_failure *failure)
{
        if (setns(gateway->namespace, CLONE_NEWNET) < 0)
                return setup_fail(failure, "cannot enter the gateway's network namespace", 0, errno);
        struct netlink_batch batch = {0};
        add_route(&batch, AF_INET, RT_TABLE_LOCAL, RTN_LOCAL, LOOPBACK, NULL, 0, NULL);
        if (gateway->v6)
                add_route(&batch, AF_INET6, RT_TABLE_MAIN, RTN_LOCAL, LOOPBACK, NULL, 0, NULL);
        return run_batch(gateway->requests, &batch, failure, "cannot set up the gateway's routes");
}

/* Moves the caller from the gateway into a new namespace for the sandbox and connects both. */
static bool join_sandbox(const struct gateway *gateway, struct setup_failure *failure)
{
        if (unshare(CLONE_NEWNET) < 0)
                return setup_fail(failure, "cannot make the sandbox's network namespace", 0, errno);
        autoclose int requests = netlink_open(NETLINK_ROUTE);
        autoclose int watch = open_link_watch();
        if (requests < 0 || watch < 0)
                return setup_fail(failure, "cannot open rtnetlink in the sandbox", 0, errno);

        struct netlink_batch batch = {0};
        add_up(&batch, LOOPBACK);
        add_pair(&batch, gateway->namespace);
        uint32_t failed;
        int error = netlink_run(requests, &batch, &failed);
        if (error == -EOPNOTSUPP)
                return share_gateway(gateway, failure);
        if (error < 0)
                return setup_fail(failure, "cannot connect the sandbox's network namespace (veth)", 0, error);
        return address_sandbox(requests, gateway->v6, failure) &&
               address_gateway(gateway->requests, gateway->v6, failure) &&
               wait_up(requests, watch, SANDBOX_LINK, failure) &&
               wait_up(gateway->requests, gateway->watch, GATEWAY_LINK, failure);
}

bool setup_gateway(const struct gateway_plan *plan, int link, struct setup_failure *failure)
{
        struct gateway gateway = {.namespace = -1, .requests = -1, .watch = -1};
        bool done = make_gateway(plan, link, &gateway, failure) && join_sandbox(&gateway, failure) &&
                    listeners_make_inner(plan, link, gateway.v6, failure) &&
                    listeners_end(link, gateway.v6, failure);
        fd_close(&gateway.namespace);
        fd_close(&gateway.requests);
        fd_close(&gateway.watch);
        return done;
}
