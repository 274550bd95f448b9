/* SPDX-License-Identifier: Apache-2.0
 *
 * A search of granted directories for the sockets that some program has bound, whatever their names.
 */
#ifndef HUTCH_GRANTS_SOCKET_WALK_H
#define HUTCH_GRANTS_SOCKET_WALK_H

#include "lib/str.h"

/* Adds to `found` the real paths of the sockets in use below `root` (real), nearest first, except in the
 * directories of `closed`. Looks at no more than *budget entries and counts it down; false when that was not
 * enough. Follows no link and makes no connection. */
bool socket_walk(const char *root, const struct str_list *closed, size_t *budget, struct str_list *found);

#endif
