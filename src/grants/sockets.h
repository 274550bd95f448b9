/* SPDX-License-Identifier: Apache-2.0
 *
 * Sockets of other programs below a grant. Through one, even on a read-only mount, the command could talk to
 * a program outside of the sandbox. hutch hides those that exist at the start.
 */
#ifndef HUTCH_GRANTS_SOCKETS_H
#define HUTCH_GRANTS_SOCKETS_H

#include "box/box.h"

/* Of the masks, in struct mount. */
#define SOCKET_MASK "socket of another program"

/* Adds a mask for each socket below a grant, unless the socket itself is granted. */
bool sockets_hide(struct box *box, struct error *error);

/* True when a grant shows a directory of the host: any program can create a socket in it at any time. */
bool sockets_can_appear(const struct box *box);

#endif
