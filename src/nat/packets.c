/* SPDX-License-Identifier: Apache-2.0
 *
 * See packets.h.
 */
#include "nat/packets.h"

#include <stdbool.h>
#include <string.h>

ssize_t packet_receive(int descriptor, uint8_t *bytes, size_t size, struct packet_ends *ends)
{
        struct iovec part = {.iov_base = bytes, .iov_len = size};
        union {
                struct cmsghdr align;
                char bytes[256];
        } control;
        struct msghdr in = {
            .msg_name = &ends->client,
            .msg_namelen = sizeof(ends->client),
            .msg_iov = &part,
            .msg_iovlen = 1,
            .msg_control = control.bytes,
            .msg_controllen = sizeof(control.bytes),
        };
        ssize_t length = recvmsg(descriptor, &in, MSG_DONTWAIT);
        ends->client_length = in.msg_namelen;
        ends->asked = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
        for (struct cmsghdr *header = length < 0 ? NULL : CMSG_FIRSTHDR(&in); header;
             header = CMSG_NXTHDR(&in, header)) {
                if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_PKTINFO) {
                        struct in6_pktinfo asked;
                        memcpy(&asked, CMSG_DATA(header), sizeof(asked));
                        ends->asked = asked.ipi6_addr;
                } else if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO) {
                        struct in_pktinfo asked;
                        memcpy(&asked, CMSG_DATA(header), sizeof(asked));
                        memcpy(ends->asked.s6_addr + 12, &asked.ipi_addr, 4);
                }
        }
        return length;
}

void packet_answer(int descriptor, const struct packet_ends *ends, const uint8_t *bytes, size_t length)
{
        struct iovec part = {.iov_base = (void *)bytes, .iov_len = length};
        union {
                struct cmsghdr align;
                char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
        } control = {0};
        struct msghdr out = {
            .msg_name = (void *)&ends->client,
            .msg_namelen = ends->client_length,
            .msg_iov = &part,
            .msg_iovlen = 1,
            .msg_control = control.bytes,
        };
        struct in_pktinfo four = {0};
        struct in6_pktinfo six = {.ipi6_addr = ends->asked};
        memcpy(&four.ipi_spec_dst, ends->asked.s6_addr + 12, 4);
        bool is_four = ends->client.ss_family == AF_INET;
        size_t size = is_four ? sizeof(four) : sizeof(six);
        control.align.cmsg_level = is_four ? IPPROTO_IP : IPPROTO_IPV6;
        control.align.cmsg_type = is_four ? IP_PKTINFO : IPV6_PKTINFO;
        control.align.cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(&control.align), is_four ? (void *)&four : &six, size);
        out.msg_controllen = CMSG_SPACE(size);
        (void)sendmsg(descriptor, &out, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t packet_receive_descriptor(int from, void *head, size_t size, int *descriptor)
{
        union {
                struct cmsghdr align;
                char bytes[CMSG_SPACE(sizeof(int))];
        } control;
        struct iovec part = {.iov_base = head, .iov_len = size};
        struct msghdr message = {
            .msg_iov = &part,
            .msg_iovlen = 1,
            .msg_control = control.bytes,
            .msg_controllen = sizeof(control.bytes),
        };
        *descriptor = -1;
        ssize_t length = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
        struct cmsghdr *rights = length > 0 ? CMSG_FIRSTHDR(&message) : NULL;
        if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS)
                memcpy(descriptor, CMSG_DATA(rights), sizeof(int));
        return length;
}
