/* SPDX-License-Identifier: Apache-2.0
 *
 * Several rtnetlink(7) or nfnetlink requests in one system call. The requests are written with libmnl's
 * mnl_attr_put_*(); nothing here allocates.
 */
#ifndef HUTCH_NAT_NETLINK_H
#define HUTCH_NAT_NETLINK_H

#include <libmnl/libmnl.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Requests that are to be sent together. Zero it before use. */
struct netlink_batch {
        alignas(NLMSG_ALIGNTO) char buffer[8192];
        size_t length;         /* of the finished requests */
        struct nlmsghdr *last; /* the one that attributes are being added to, or NULL */
        uint32_t count;        /* its sequence number, from 1 */
        uint32_t expected;     /* requests that are answered */
};

/* A netlink socket of a protocol (NETLINK_ROUTE, NETLINK_NETFILTER) in the caller's network namespace, or a
 * negative errno. */
int netlink_open(int protocol);

/* Begins a request; attributes are added to the result until the next call. NULL when the batch is full:
 * 1 KiB of room for each request is kept, more than any of hutch's takes. `extra` is the size of the family's
 * own header, which is zeroed and can be had with mnl_nlmsg_get_payload(). NLM_F_REQUEST and NLM_F_ACK are
 * added; `answered` false leaves out the latter, for the brackets of an nfnetlink transaction. */
struct nlmsghdr *netlink_add(struct netlink_batch *batch, uint16_t type, uint16_t flags, size_t extra,
                             bool answered);

/* Sends everything and reads every answer. 0, or the negative errno of the first request that failed, whose
 * number is then in *failed (from 1). The kernel carries out a request although an earlier one failed: a
 * caller that goes on after an error knows what it means. The batch is empty afterwards. */
int netlink_run(int socket, struct netlink_batch *batch, uint32_t *failed);

#endif
