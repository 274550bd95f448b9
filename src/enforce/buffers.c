/* SPDX-License-Identifier: Apache-2.0
 *
 * See buffers.h.
 *
 * Theory of operation. A pipe that is made while its user has more than 64 MiB in pipes
 * (pipe-user-pages-soft) has two pages and cannot grow. sock_diag reports what a socket holds. For UNIX
 * sockets it charges queued data to the sender, and a sender that was closed is no longer listed while its
 * data still waits at the receiver; so a receiver without its sender counts for the most that a sender may
 * have queued.
 */
#include "enforce/buffers.h"

#include "lib/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/netlink_diag.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
        PIPE_BYTES = 8192,         /* two pages */
        FILE_BYTES = 512,          /* kernel memory for each open file */
        SOCKET_BYTES = 2048,       /* the same for a socket */
        TCP_BYTES_MOST = 32 << 20, /* one connection: tcp_rmem and tcp_wmem are usually 6 and 4 MiB */
        DATAGRAMS_MOST = 11,       /* that can wait at one UNIX socket: max_dgram_qlen and one more */
        STATE_LISTENING = 10,      /* TCP_LISTEN, also for UNIX sockets */
        ANSWER_BYTES = 1 << 15,
};

#define ALL_STATES 0xffffffffU

/* ---- pipes ---- */

uint64_t buffers_pipe_bound(uint64_t open_files)
{
        return open_files * (PIPE_BYTES + FILE_BYTES);
}

static void add_file(int directory, const char *name, bool (*is_new)(uint64_t number), uint64_t *total)
{
        static const char mark[] = "pipe:[";
        char text[64];
        ssize_t length = readlinkat(directory, name, text, sizeof(text) - 1);
        *total += FILE_BYTES;
        if (length <= 0)
                return;
        text[length] = 0;
        if (strncmp(text, mark, sizeof(mark) - 1) == 0 && is_new(strtoull(text + sizeof(mark) - 1, NULL, 10)))
                *total += PIPE_BYTES;
}

void buffers_add_files(int proc, const char *process, unsigned open_files, bool (*is_new)(uint64_t number),
                       uint64_t *total)
{
        _Alignas(struct dirent64) char entries[16384];
        char path[64];
        ssize_t length;
        (void)snprintf(path, sizeof(path), "%s/fd", process);
        autoclose int directory = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (directory < 0 && errno != ENOENT &&
            errno != ESRCH) /* The process has not exited, so its descriptors exist but cannot be listed. */
                *total += buffers_pipe_bound(open_files);
        while (directory >= 0 && (length = syscall(SYS_getdents64, directory, entries, sizeof(entries))) > 0)
                for (ssize_t at = 0; at < length;) {
                        const struct dirent64 *entry = (const void *)(entries + at);
                        at += entry->d_reclen;
                        if (entry->d_name[0] != '.')
                                add_file(directory, entry->d_name, is_new, total);
                }
}

/* ---- sockets ---- */

static uint64_t find_count(const char *text, const char *key)
{
        const char *found = strstr(text, key);
        return found ? strtoull(found + strlen(key), NULL, 10) : 0;
}

uint64_t buffers_socket_bound(const char *sockstat, const char *sockstat6, uint64_t socket_max)
{
        uint64_t connections = find_count(sockstat, "TCP: inuse ") + find_count(sockstat6, "TCP6: inuse ");
        return find_count(sockstat, "sockets: used ") * socket_max + connections * TCP_BYTES_MOST;
}

/* The attribute of this kind in an answer, or NULL when there is none of at least `size` bytes. */
static const void *find_attribute(const struct nlmsghdr *message, size_t header, unsigned kind, size_t size)
{
        const size_t head = sizeof(struct nlattr); /* already a multiple of NLMSG_ALIGNTO */
        for (size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(header); message->nlmsg_len >= at + head;) {
                const struct nlattr *attribute = (const void *)((const char *)message + at);
                if (attribute->nla_len < head || attribute->nla_len > message->nlmsg_len - at)
                        break;
                if (attribute->nla_type == kind && attribute->nla_len - head >= size)
                        return attribute + 1;
                at += NLMSG_ALIGN(attribute->nla_len); /* attributes are aligned like messages */
        }
        return NULL;
}

/* The bytes that a socket holds, from an array whose length depends on the kernel. */
static uint64_t read_memory(const struct nlmsghdr *message, size_t header, unsigned kind)
{
        const uint32_t *memory =
            find_attribute(message, header, kind, (SK_MEMINFO_OPTMEM + 1) * sizeof(uint32_t));
        if (!memory)
                return SOCKET_BYTES;
        uint64_t sent = memory[SK_MEMINFO_WMEM_QUEUED] > memory[SK_MEMINFO_WMEM_ALLOC]
                            ? memory[SK_MEMINFO_WMEM_QUEUED]
                            : memory[SK_MEMINFO_WMEM_ALLOC];
        return SOCKET_BYTES + sent + memory[SK_MEMINFO_RMEM_ALLOC] + memory[SK_MEMINFO_OPTMEM];
}

static uint64_t read_unix(const struct nlmsghdr *message, uint64_t socket_max)
{
        const struct unix_diag_msg *socket = NLMSG_DATA(message);
        uint64_t memory = read_memory(message, sizeof(*socket), UNIX_DIAG_MEMINFO);
        const struct unix_diag_rqlen *queues =
            find_attribute(message, sizeof(*socket), UNIX_DIAG_RQLEN, sizeof(*queues));
        const uint8_t *shut = find_attribute(message, sizeof(*socket), UNIX_DIAG_SHUTDOWN, sizeof(*shut));
        if (!queues || queues->udiag_rqueue == 0 || socket->udiag_state == STATE_LISTENING)
                return memory;
        if (socket->udiag_type == SOCK_DGRAM)
                return memory + DATAGRAMS_MOST * socket_max;
        return shut && *shut ? memory + socket_max : memory;
}

static uint64_t read_inet(const struct nlmsghdr *message, uint64_t socket_max)
{
        (void)socket_max;
        return read_memory(message, sizeof(struct inet_diag_msg), INET_DIAG_SKMEMINFO);
}

static uint64_t read_netlink(const struct nlmsghdr *message, uint64_t socket_max)
{
        (void)socket_max;
        return read_memory(message, sizeof(struct netlink_diag_msg), NETLINK_DIAG_MEMINFO);
}

typedef uint64_t answer_reader(const struct nlmsghdr *message, uint64_t socket_max);

/* Asks for all sockets of one kind and reads the whole answer. */
static void list_sockets(int diag, const void *question, size_t size, answer_reader *read_one,
                         uint64_t socket_max, uint64_t *total)
{
        static _Alignas(struct nlmsghdr) char text[ANSWER_BYTES];
        char request[NLMSG_SPACE(128)] = {0};
        struct nlmsghdr *head = (void *)request;
        *head = (struct nlmsghdr){.nlmsg_len = (uint32_t)NLMSG_LENGTH(size),
                                  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                                  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP};
        memcpy(NLMSG_DATA(head), question, size);
        if (send(diag, request, head->nlmsg_len, 0) < 0)
                return;
        for (;;) {
                struct iovec data = {.iov_base = text, .iov_len = sizeof(text)};
                struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
                ssize_t length = recvmsg(diag, &message, MSG_DONTWAIT);
                if (length <= 0)
                        return;
                size_t left = (size_t)length;
                for (head = (void *)text; NLMSG_OK(head, left); head = NLMSG_NEXT(head, left)) {
                        if (head->nlmsg_type == NLMSG_DONE || head->nlmsg_type == NLMSG_ERROR)
                                return;
                        *total += read_one(head, socket_max);
                }
        }
}

static void list_inet(int diag, uint8_t family, uint32_t protocol, uint64_t *total)
{
        struct {
                struct inet_diag_req_v2 request;
                struct nlattr head; /* the number of MPTCP does not fit into sdiag_protocol */
                uint32_t protocol;
        } question = {
            .request = {.sdiag_family = family,
                        .sdiag_protocol = (uint8_t)protocol,
                        .idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1),
                        .idiag_states = ALL_STATES},
            .head = {.nla_len = sizeof(struct nlattr) + sizeof(uint32_t), .nla_type = INET_DIAG_REQ_PROTOCOL},
            .protocol = protocol,
        };
        list_sockets(diag, &question, protocol > UINT8_MAX ? sizeof(question) : sizeof(question.request),
                     read_inet, 0, total);
}

void buffers_add_sockets(int diag, uint64_t socket_max, uint64_t limit, uint64_t *total)
{
        static const uint8_t families[] = {AF_INET, AF_INET6};
        static const uint32_t protocols[] = {IPPROTO_TCP, IPPROTO_UDP, IPPROTO_MPTCP};
        const struct unix_diag_req unix_question = {
            .sdiag_family = AF_UNIX,
            .udiag_states = ALL_STATES,
            .udiag_show = UDIAG_SHOW_MEMINFO | UDIAG_SHOW_RQLEN,
        };
        const struct netlink_diag_req netlink_question = {
            .sdiag_family = AF_NETLINK,
            .sdiag_protocol = NDIAG_PROTO_ALL,
            .ndiag_show = NDIAG_SHOW_MEMINFO,
        };
        list_sockets(diag, &unix_question, sizeof(unix_question), read_unix, socket_max, total);
        list_sockets(diag, &netlink_question, sizeof(netlink_question), read_netlink, socket_max, total);
        for (size_t i = 0; i < sizeof(families) && *total <= limit; i++)
                for (size_t j = 0; j < sizeof(protocols) / sizeof(*protocols); j++)
                        list_inet(diag, families[i], protocols[j], total);
}
