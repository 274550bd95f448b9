/* SPDX-License-Identifier: Apache-2.0
 *
 * Sockets of other programs below a grant. Through one, even on a read-only mount, the command could talk to
 * a program outside of the sandbox. hutch hides those that exist at the start.
 */
#ifndef HUTCH_GRANTS_SOCKETS_H
#define HUTCH_GRANTS_SOCKETS_H

#include "grants/mountinfo.h"
#include "grants/resolver.h"
#include "grants/socket_list.h"

/* Adds a mask for each socket below a grant, unless the socket itself is granted. Status 125 when hutch
 * cannot look for sockets. */
bool sockets_hide(const struct resolver *resolver);

/* What the lists of sockets leave to a search of the grants. */
struct socket_search {
        struct box *box;
        struct mountinfo info;
        size_t entries; /* how many to search; 0: all sockets were found by name */
        bool certain;   /* a granted file system has a socket whose path is not known */
        bool silent;    /* such a socket is in a file system that hutch does not search */
};

/* A socket_taker: hides the listed socket at its name, or notes what to search. `search` is a struct
 * socket_search. */
void sockets_take(void *search, const struct listed_socket *listed);

/* Searches the grants, and prints a note when that cannot find every socket. */
void sockets_search(const struct socket_search *search);

/* True when a grant shows a directory of the host: any program can create a socket in it at any time. */
bool sockets_can_appear(const struct box *box);

#endif
