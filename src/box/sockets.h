/* SPDX-License-Identifier: Apache-2.0
 *
 * Sockets of other programs below a grant: who connects to one talks to a program outside of the sandbox,
 * read-only mount or not. Those that exist at the start are hidden.
 */
#ifndef HUTCH_BOX_SOCKETS_H
#define HUTCH_BOX_SOCKETS_H

#include "box/box.h"

/* Adds a mask for each socket, as the kernel lists them, that lies below one of the person's grants. */
bool sockets_hide(struct box *box, struct error *error);

#endif
