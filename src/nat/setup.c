/* SPDX-License-Identifier: Apache-2.0
 *
 * See setup.h. rtnetlink(7) through libmnl; no `ip`, no ioctl.
 */
#include "nat/setup.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <stddef.h>

enum { LOOPBACK_INDEX = 1 }; /* the first interface of every network namespace */

static int request_loopback(struct mnl_socket *socket)
{
        char buffer[1024] __attribute__((aligned(NLMSG_ALIGNTO))) = {0};
        struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
        header->nlmsg_type = RTM_NEWLINK;
        header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
        header->nlmsg_seq = 1;
        struct ifinfomsg *link = mnl_nlmsg_put_extra_header(header, sizeof(*link));
        link->ifi_family = AF_UNSPEC;
        link->ifi_index = LOOPBACK_INDEX;
        link->ifi_flags = IFF_UP;
        link->ifi_change = IFF_UP;

        if (mnl_socket_sendto(socket, header, header->nlmsg_len) < 0)
                return -errno;
        ssize_t length = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));
        if (length < 0)
                return -errno;
        /* The answer is an error message, with 0 for success: mnl_cb_run() turns that into its result. */
        if (mnl_cb_run(buffer, (size_t)length, 1, mnl_socket_get_portid(socket), NULL, NULL) < 0)
                return -errno;
        return 0;
}

int setup_loopback(void)
{
        struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
        if (!socket)
                return -errno;
        int result = mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ? -errno : request_loopback(socket);
        mnl_socket_close(socket);
        return result;
}
