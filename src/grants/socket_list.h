/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's lists of sockets that are bound to a path and can be connected to.
 */
#ifndef HUTCH_GRANTS_SOCKET_LIST_H
#define HUTCH_GRANTS_SOCKET_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct listed_socket {
        const char *name; /* as its program bound it: relative, or of another root, or outdated */
        bool identified;  /* by the next two */
        uint32_t device;  /* major << 20 | minor */
        uint32_t inode;   /* its lower half */
};

typedef void socket_taker(void *context, const struct listed_socket *socket);

/* Those of the caller's network namespace. False when the kernel does not tell (CONFIG_UNIX_DIAG). */
bool socket_list_own(socket_taker *take, void *context);

/* Those of every other network namespace that can be seen in /proc, and with `own` of the caller's too; by
 * name only. False with errno when /proc cannot be read. */
bool socket_list_others(bool own, socket_taker *take, void *context);

#endif
