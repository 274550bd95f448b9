/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking through granted directories for sockets that somebody listens on, whatever their names.
 */
#ifndef HUTCH_GRANTS_SOCKET_WALK_H
#define HUTCH_GRANTS_SOCKET_WALK_H

#include "box/box.h"

/* Adds to `found` the real paths of the sockets in use below `root` (real), nearest first, but not in the
 * directories of `closed`. Looks at no more than *budget entries, which it counts down; false when that was
 * not enough. No link is followed, and no connection is made. */
bool socket_walk(const char *root, const struct str_list *closed, size_t *budget, struct str_list *found);

#endif
