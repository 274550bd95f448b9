/* SPDX-License-Identifier: Apache-2.0
 *
 * See socket_list.h.
 */
#include "grants/socket_list.h"

#include "lib/fd.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/net.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>

enum {
        MAX_NAME = 108,
        MAX_TABLE_BYTES = 16 << 20,
        STATE_ESTABLISHED = 1, /* net/tcp_states.h, which UNIX sockets use too */
};

struct receiver {
        socket_taker *take;
        void *context;
};

struct listed_socket {
        char name[MAX_NAME + 1];
        uint32_t device;
};

static int read_attribute(const struct nlattr *attribute, void *context)
{
        struct listed_socket *listed = context;
        struct unix_diag_vfs object;
        size_t length = mnl_attr_get_payload_len(attribute);
        if (mnl_attr_get_type(attribute) == UNIX_DIAG_NAME && length <= MAX_NAME) {
                memcpy(listed->name, mnl_attr_get_payload(attribute), length);
        } else if (mnl_attr_get_type(attribute) == UNIX_DIAG_VFS && length >= sizeof(object)) {
                memcpy(&object, mnl_attr_get_payload(attribute), sizeof(object));
                listed->device = object.udiag_vfs_dev;
        }
        return MNL_CB_OK;
}

static int read_socket(const struct nlmsghdr *header, void *context)
{
        const struct receiver *receiver = context;
        const struct unix_diag_msg *message = mnl_nlmsg_get_payload(header);
        struct listed_socket listed = {0};
        /* The accepted end of a connection has the name of the listening socket, but accepts no connection
         * itself. A datagram socket does, even when it is connected. */
        if (message->udiag_state == STATE_ESTABLISHED && message->udiag_type != SOCK_DGRAM)
                return MNL_CB_OK;
        (void)mnl_attr_parse(header, sizeof(*message), read_attribute, &listed);
        if (listed.name[0]) /* otherwise it has no name, or an abstract one */
                receiver->take(receiver->context, listed.name, &listed.device);
        return MNL_CB_OK;
}

static int request_dump(struct mnl_socket *socket, struct receiver *receiver)
{
        char buffer[16384] __attribute__((aligned(NLMSG_ALIGNTO))) = {0};
        struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
        header->nlmsg_type = SOCK_DIAG_BY_FAMILY;
        header->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
        struct unix_diag_req *request = mnl_nlmsg_put_extra_header(header, sizeof(*request));
        request->sdiag_family = AF_UNIX;
        request->udiag_states = ~0U;
        request->udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_VFS;
        int more = mnl_socket_sendto(socket, header, header->nlmsg_len) < 0 ? MNL_CB_ERROR : MNL_CB_OK;
        while (more == MNL_CB_OK) {
                ssize_t length = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));
                more = length < 0 ? MNL_CB_ERROR
                                  : mnl_cb_run(buffer, (size_t)length, 0, 0, read_socket, receiver);
        }
        return more == MNL_CB_ERROR ? -errno : 0;
}

/* "Num RefCount Protocol Flags Type St Inode Path", as seq_printf() in net/unix/af_unix.c writes it. */
static void read_line(char *line, const struct receiver *receiver)
{
        for (unsigned field = 0; field < 7; field++) {
                line += strspn(line, " ");
                line += strcspn(line, " ");
        }
        if (line[0] == ' ' && line[1] == '/')
                receiver->take(receiver->context, line + 1, NULL);
}

static int read_table(const struct receiver *receiver)
{
        autofree char *text = NULL;
        ssize_t length = fd_read_file("/proc/self/net/unix", MAX_TABLE_BYTES, &text);
        for (char *rest = text, *line; length >= 0 && (line = strsep(&rest, "\n"));)
                read_line(line, receiver);
        return length < 0 ? (int)length : 0;
}

int socket_list(socket_taker *take, void *context)
{
        struct receiver receiver = {.take = take, .context = context};
        struct mnl_socket *socket = mnl_socket_open2(NETLINK_SOCK_DIAG, SOCK_CLOEXEC);
        int error = socket ? request_dump(socket, &receiver) : -errno;
        if (socket)
                mnl_socket_close(socket);
        return error < 0 ? read_table(&receiver) : 0;
}
