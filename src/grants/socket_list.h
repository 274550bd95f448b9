/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's list of the unix sockets that are bound to a path and accept connections, in the network
 * namespace of the caller (sock_diag(7)).
 */
#ifndef HUTCH_GRANTS_SOCKET_LIST_H
#define HUTCH_GRANTS_SOCKET_LIST_H

#include <stdint.h>

/* `name`: as its program bound it, which may be relative, of another root, or outdated. `device`: of the file
 * system that the socket is in, major << 20 | minor; NULL where it is not known. */
typedef void socket_taker(void *context, const char *name, const uint32_t *device);

/* Calls `take` for each socket. Where the kernel has no CONFIG_UNIX_DIAG, or a filter refuses the request, as
 * in a sandbox, the names are those of /proc/self/net/unix. Returns 0, or a negative errno when neither can
 * be read. */
int socket_list(socket_taker *take, void *context);

#endif
