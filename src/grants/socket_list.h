/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's lists of the unix sockets that are bound to a path and accept connections.
 */
#ifndef HUTCH_GRANTS_SOCKET_LIST_H
#define HUTCH_GRANTS_SOCKET_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct listed_socket {
        const char *name; /* as its program bound it: may be relative, of another root, or outdated */
        bool identified;  /* device and inode are known */
        uint32_t device;  /* major << 20 | minor */
        uint32_t inode;   /* its lower half */
};

typedef void socket_taker(void *context, const struct listed_socket *socket);

/* Calls `take` for each socket of the caller's network namespace. False when the kernel cannot list them (no
 * CONFIG_UNIX_DIAG). */
bool socket_list_own(socket_taker *take, void *context);

/* The same for every other network namespace of the processes in /proc, and with `own` for the caller's too;
 * none is identified. False with errno when /proc cannot be read. */
bool socket_list_others(bool own, socket_taker *take, void *context);

/* The same for one list, whose text has the format of /proc/net/unix. Changes the text. */
void socket_list_parse(char *text, socket_taker *take, void *context);

#endif
