/* SPDX-License-Identifier: Apache-2.0
 *
 * Sockets of other programs below a grant. Through one, even on a read-only mount, the command could talk to
 * a program outside of the sandbox. hutch hides those that the kernel lists by a path, and those directly in
 * a granted directory, as they are at the start. Landlock 9 refuses the others (ns/landlock.h).
 */
#ifndef HUTCH_GRANTS_SOCKETS_H
#define HUTCH_GRANTS_SOCKETS_H

#include "grants/resolver.h"

/* Adds a mask for each socket that it finds below a grant, unless the socket itself is granted. Status 125
 * when the kernel does not list sockets. */
bool sockets_hide(const struct resolver *resolver);

/* True when a grant shows a directory of the host: any program can create a socket in it at any time. */
bool sockets_can_appear(const struct box *box);

#endif
