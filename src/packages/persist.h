/* SPDX-License-Identifier: Apache-2.0
 *
 * --persist NAME: a home that hutch keeps between runs, and the mount points in it. An earlier run of the
 * server wrote the content of that home: no link in it is followed.
 */
#ifndef HUTCH_PACKAGES_PERSIST_H
#define HUTCH_PACKAGES_PERSIST_H

#include "grants/resolver.h"

/* Mounts the directory of --persist as the home. The base must be in the box already. */
bool persist_add(const struct resolver *resolver);

/* Makes the mount points of everything that is mounted in the home of --persist. Call it before
 * protect_add(), which then keeps the server from moving them. */
bool persist_make_mount_points(const struct resolver *resolver);

#endif
