/* SPDX-License-Identifier: Apache-2.0
 *
 * See socket_list.h. sock_diag(7) lists the sockets of the caller's network namespace with the device and
 * inode each is bound to, whatever has become of its name. For other namespaces there are only the text lists
 * of their processes, /proc/PID/net/unix (proc_pid_net(5)).
 */
#include "grants/socket_list.h"

#include "lib/fd.h"
#include "lib/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/net.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
        MAX_NAMESPACES = 256,
        MAX_LIST_BYTES = 64 << 20,
        MAX_NAME = 108,
        STATE_ESTABLISHED = 1, /* net/tcp_states.h, which UNIX sockets use too */
        LINE_CONNECTED = 3,    /* the same in the text list: SS_CONNECTED */
};

struct receiver {
        socket_taker *take;
        void *context;
};

/* The accepted end of a connection has the name of the listening socket, but accepts no connection itself. A
 * datagram socket does, even when it is connected. */
static bool can_be_reached(unsigned type, bool connected)
{
        return !connected || type == SOCK_DGRAM;
}

/* What sock_diag tells about one socket. */
struct diagnosis {
        struct listed_socket listed;
        char name[MAX_NAME + 1];
};

static int read_attribute(const struct nlattr *attribute, void *context)
{
        struct diagnosis *diagnosis = context;
        size_t length = mnl_attr_get_payload_len(attribute);
        if (mnl_attr_get_type(attribute) == UNIX_DIAG_NAME && length <= MAX_NAME) {
                memcpy(diagnosis->name, mnl_attr_get_payload(attribute), length);
        } else if (mnl_attr_get_type(attribute) == UNIX_DIAG_VFS && length >= sizeof(struct unix_diag_vfs)) {
                struct unix_diag_vfs object;
                memcpy(&object, mnl_attr_get_payload(attribute), sizeof(object));
                diagnosis->listed.identified = true;
                diagnosis->listed.device = object.udiag_vfs_dev;
                diagnosis->listed.inode = object.udiag_vfs_ino;
        }
        return MNL_CB_OK;
}

static int read_diagnosis(const struct nlmsghdr *header, void *context)
{
        const struct receiver *receiver = context;
        const struct unix_diag_msg *message = mnl_nlmsg_get_payload(header);
        struct diagnosis diagnosis = {0};
        if (!can_be_reached(message->udiag_type, message->udiag_state == STATE_ESTABLISHED))
                return MNL_CB_OK;
        diagnosis.listed.name = diagnosis.name;
        (void)mnl_attr_parse(header, sizeof(struct unix_diag_msg), read_attribute, &diagnosis);
        if (diagnosis.listed.identified) /* otherwise it has no name, or an abstract one */
                receiver->take(receiver->context, &diagnosis.listed);
        return MNL_CB_OK;
}

static bool request_dump(struct mnl_socket *socket, struct receiver *receiver)
{
        char buffer[16384] __attribute__((aligned(NLMSG_ALIGNTO))) = {0};
        struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
        header->nlmsg_type = SOCK_DIAG_BY_FAMILY;
        header->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
        struct unix_diag_req *request = mnl_nlmsg_put_extra_header(header, sizeof(*request));
        request->sdiag_family = AF_UNIX;
        request->udiag_states = ~0U;
        request->udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_VFS;
        if (mnl_socket_sendto(socket, header, header->nlmsg_len) < 0)
                return false;
        int more = MNL_CB_OK;
        while (more == MNL_CB_OK) {
                ssize_t length = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));
                more = length < 0 ? MNL_CB_ERROR
                                  : mnl_cb_run(buffer, (size_t)length, 0, 0, read_diagnosis, receiver);
        }
        return more == MNL_CB_STOP;
}

bool socket_list_own(socket_taker *take, void *context)
{
        struct receiver receiver = {.take = take, .context = context};
        struct mnl_socket *socket = mnl_socket_open2(NETLINK_SOCK_DIAG, SOCK_CLOEXEC);
        bool listed = socket && request_dump(socket, &receiver);
        if (socket)
                mnl_socket_close(socket);
        return listed;
}

/* Cuts the next word off *rest. "" at the end. */
static char *next_word(char **rest)
{
        char *word = *rest + strspn(*rest, " ");
        char *end = word + strcspn(word, " ");
        *rest = end + (*end == ' ');
        *end = 0;
        return word;
}

/* One line: "Num RefCount Protocol Flags Type St Inode Path". A name can contain a line break; what follows
 * it does not parse as a line. */
static void read_line(char *line, const struct receiver *receiver)
{
        enum { TYPE = 4, STATE = 5, FIELDS = 7 };
        const char *fields[FIELDS];
        for (size_t i = 0; i < FIELDS; i++)
                fields[i] = next_word(&line);
        /* Sockets without a path or with an abstract name are in no directory. */
        if (!line[0] || line[0] == '@')
                return;
        const struct listed_socket listed = {.name = line};
        if (can_be_reached((unsigned)strtoul(fields[TYPE], NULL, 16),
                           strtoul(fields[STATE], NULL, 16) == LINE_CONNECTED))
                receiver->take(receiver->context, &listed);
}

void socket_list_parse(char *text, socket_taker *take, void *context)
{
        const struct receiver receiver = {.take = take, .context = context};
        (void)strsep(&text, "\n"); /* the heading */
        for (char *line; (line = strsep(&text, "\n"));)
                read_line(line, &receiver);
}

/* A process that has ended meanwhile has no list, and its sockets are closed. */
static void read_list(int proc, const char *path, const struct receiver *receiver)
{
        autofree char *text = NULL;
        autoclose int list = openat(proc, path, O_RDONLY | O_CLOEXEC);
        if (list >= 0 && fd_read_all(list, MAX_LIST_BYTES, &text) >= 0)
                socket_list_parse(text, receiver->take, receiver->context);
}

bool socket_list_others(bool own, socket_taker *take, void *context)
{
        const struct receiver receiver = {.take = take, .context = context};
        struct stat status;
        DIR *proc = opendir("/proc");
        if (!proc)
                return false;
        /* Each namespace has one list; its inode number tells whether it was read already. */
        ino_t seen[MAX_NAMESPACES];
        size_t seen_count = 0;
        if (!own && fstatat(dirfd(proc), "self/net/unix", &status, 0) == 0)
                seen[seen_count++] = status.st_ino;
        for (struct dirent *entry; (entry = readdir(proc));) {
                if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
                        continue;
                autofree char *path = str_format("%s/net/unix", entry->d_name);
                if (fstatat(dirfd(proc), path, &status, 0) < 0)
                        continue;
                bool known = false;
                for (size_t i = 0; i < seen_count && !known; i++)
                        known = seen[i] == status.st_ino;
                if (known)
                        continue;
                if (seen_count < MAX_NAMESPACES)
                        seen[seen_count++] = status.st_ino;
                read_list(dirfd(proc), path, &receiver);
        }
        closedir(proc);
        return true;
}
