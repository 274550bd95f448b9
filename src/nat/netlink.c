/* SPDX-License-Identifier: Apache-2.0
 *
 * See netlink.h. libmnl's socket and batch objects are not used: they allocate, and this code runs in a child
 * that makes system calls only.
 */
#include "nat/netlink.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = 1024 };

int netlink_open(int protocol)
{
        int socket_ = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
        if (socket_ < 0)
                return -errno;
        struct sockaddr_nl self = {.nl_family = AF_NETLINK};
        if (bind(socket_, (struct sockaddr *)&self, sizeof(self)) < 0) {
                int error = -errno;
                close(socket_);
                return error;
        }
        return socket_;
}

/* Attributes of the last request may have been added until now. */
static void finish_last(struct netlink_batch *batch)
{
        if (batch->last)
                batch->length += NLMSG_ALIGN(batch->last->nlmsg_len);
        batch->last = NULL;
}

struct nlmsghdr *netlink_add(struct netlink_batch *batch, uint16_t type, uint16_t flags, size_t extra,
                             bool answered)
{
        finish_last(batch);
        if (batch->length + ROOM > sizeof(batch->buffer))
                return NULL;
        batch->last = mnl_nlmsg_put_header(batch->buffer + batch->length);
        batch->last->nlmsg_type = type;
        batch->last->nlmsg_flags = (uint16_t)(flags | NLM_F_REQUEST | (answered ? NLM_F_ACK : 0));
        batch->last->nlmsg_seq = ++batch->count;
        batch->expected += answered;
        mnl_nlmsg_put_extra_header(batch->last, extra);
        return batch->last;
}

/* Reads the answers in one datagram. */
static void read_answers(const char *answers, size_t length, uint32_t *answered, int *error, uint32_t *failed)
{
        int left = (int)length;
        for (const struct nlmsghdr *header = (const struct nlmsghdr *)answers; mnl_nlmsg_ok(header, left);
             header = mnl_nlmsg_next(header, &left)) {
                if (header->nlmsg_type != NLMSG_ERROR)
                        continue;
                const struct nlmsgerr *answer = mnl_nlmsg_get_payload(header);
                (*answered)++;
                if (answer->error == 0 || (*error != 0 && header->nlmsg_seq >= *failed))
                        continue;
                *error = answer->error;
                *failed = header->nlmsg_seq;
        }
}

int netlink_run(int socket_, struct netlink_batch *batch, uint32_t *failed)
{
        finish_last(batch);
        uint32_t expected = batch->expected, answered = 0;
        int error = 0;
        *failed = 0;
        ssize_t sent = send(socket_, batch->buffer, batch->length, 0);
        if (sent < 0)
                error = -errno;
        while (sent >= 0 && answered < expected) {
                alignas(NLMSG_ALIGNTO) char answers[8192];
                /* The kernel executes the requests within send(), so every answer is there. There may be
                 * fewer answers than requests: a transaction that cannot begin has one for all of them. */
                ssize_t length = recv(socket_, answers, sizeof(answers), MSG_DONTWAIT);
                if (length < 0 && errno == EINTR)
                        continue;
                if (length < 0 && errno == EAGAIN && error != 0)
                        break;
                if (length <= 0) {
                        error = length < 0 && errno != EAGAIN ? -errno : -EPROTO;
                        break;
                }
                read_answers(answers, (size_t)length, &answered, &error, failed);
        }
        batch->length = 0;
        batch->count = batch->expected = 0;
        return error;
}
