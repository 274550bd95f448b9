/* SPDX-License-Identifier: Apache-2.0
 *
 * Sockets of other programs below a grant: who connects to one talks to a program outside of the sandbox,
 * read-only mount or not. Those that exist at the start are hidden.
 */
#ifndef HUTCH_GRANTS_SOCKETS_H
#define HUTCH_GRANTS_SOCKETS_H

#include "box/box.h"

/* Why a socket is masked, in struct mount. */
#define SOCKET_MASK "socket of another program"

/* Adds a mask for each socket, as the kernel lists them, that lies below one of the person's grants. */
bool sockets_hide(struct box *box, struct error *error);

/* True when a grant shows a directory of the host, in which any program can make one at any time. */
bool sockets_can_appear(const struct box *box);

#endif
