/* SPDX-License-Identifier: Apache-2.0
 *
 * See host_routes.h. The kernel is asked for the type of the route. The source address that it would choose
 * tells less: for the second address of an interface that is the first one. The socket must serve for nothing
 * but this question.
 */
#include "nat/host_routes.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

static int routes = -1;

bool host_routes_open(void)
{
        routes = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
        return routes >= 0;
}

struct route_request {
        struct nlmsghdr header;
        struct rtmsg route;
        struct rtattr attribute;
        uint8_t address[16];
};

static size_t write_request(struct route_request *request, const struct in6_addr *address, uint32_t number)
{
        bool four = IN6_IS_ADDR_V4MAPPED(address);
        size_t size = four ? 4 : 16;
        *request = (struct route_request){
            .header.nlmsg_type = RTM_GETROUTE,
            .header.nlmsg_flags = NLM_F_REQUEST,
            .header.nlmsg_seq = number,
            .route.rtm_family = four ? AF_INET : AF_INET6,
            .route.rtm_dst_len = (uint8_t)(size * 8),
            .attribute.rta_type = RTA_DST,
            .attribute.rta_len = (uint16_t)RTA_LENGTH(size),
        };
        memcpy(request->address, address->s6_addr + 16 - size, size);
        request->header.nlmsg_len = (uint32_t)(offsetof(struct route_request, address) + size);
        return request->header.nlmsg_len;
}

static bool leaves(uint8_t type)
{
        return type != RTN_LOCAL && type != RTN_ANYCAST && type != RTN_BROADCAST && type != RTN_MULTICAST;
}

bool host_routes_leave(const struct in6_addr *address)
{
        static uint32_t number;
        struct route_request request;
        union {
                struct nlmsghdr header;
                uint8_t bytes[4096];
        } reply;
        size_t length = write_request(&request, address, ++number);
        if (send(routes, &request, length, MSG_DONTWAIT) != (ssize_t)length)
                return false;
        /* The kernel has answered before send() returns; an answer to an earlier question may precede it. */
        for (;;) {
                ssize_t got = recv(routes, &reply, sizeof(reply), MSG_DONTWAIT);
                if (got < (ssize_t)NLMSG_LENGTH(sizeof(struct rtmsg)))
                        return false;
                if (reply.header.nlmsg_seq != number)
                        continue;
                if (reply.header.nlmsg_type == NLMSG_ERROR)
                        return true; /* no route: the connection will fail anyway */
                const struct rtmsg *route = NLMSG_DATA(&reply.header);
                return reply.header.nlmsg_type == RTM_NEWROUTE && leaves(route->rtm_type);
        }
}
