/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends several rtnetlink(7) or nfnetlink requests in one system call. Callers write the requests with
 * libmnl's mnl_attr_put_*(). Nothing here allocates.
 */
#ifndef HUTCH_NAT_NETLINK_H
#define HUTCH_NAT_NETLINK_H

#include <libmnl/libmnl.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Requests to send together. Zero it before use. */
struct netlink_batch {
        alignas(NLMSG_ALIGNTO) char buffer[8192];
        size_t length;         /* of the complete requests */
        struct nlmsghdr *last; /* the request that attributes are being added to, or NULL */
        uint32_t count;        /* its sequence number, from 1 */
        uint32_t expected;     /* requests that the kernel answers */
};

/* Opens a netlink socket of a protocol (NETLINK_ROUTE, NETLINK_NETFILTER) in the caller's network namespace.
 * Returns the descriptor or a negative errno. */
int netlink_open(int protocol);

/* Begins a request, and returns it; attributes are added to it until the next call. NULL when the batch has
 * less than 1 KiB of room, which is more than any request of hutch takes. `extra` is the size of the family's
 * own header, which is zeroed and which mnl_nlmsg_get_payload() returns. The function adds NLM_F_REQUEST, and
 * NLM_F_ACK if `answered`: the brackets of an nfnetlink transaction have no answer. */
struct nlmsghdr *netlink_add(struct netlink_batch *batch, uint16_t type, uint16_t flags, size_t extra,
                             bool answered);

/* Sends the requests, reads every answer and empties the batch. Returns 0, or the negative errno of the first
 * request that failed, with its number (from 1) in *failed. The kernel executes a request although an earlier
 * one has failed, so a caller that continues after an error must know what that means. */
int netlink_run(int socket, struct netlink_batch *batch, uint32_t *failed);

#endif
