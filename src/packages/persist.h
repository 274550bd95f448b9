/* SPDX-License-Identifier: Apache-2.0
 *
 * --persist NAME: a home that is kept between runs, and the mount points that it needs.
 */
#ifndef HUTCH_PACKAGES_PERSIST_H
#define HUTCH_PACKAGES_PERSIST_H

#include "box/box.h"
#include "grants/held_sources.h"
#include "options/options.h"

/* Makes the home of --persist the home, after the base was added. */
bool persist_add(struct box *box, struct held_sources *held, const struct options *options,
                 struct error *error);

/* Makes, in the home of --persist, the places of what is mounted there. Before protect_add(), which
 * holds them in their places. */
bool persist_make_mount_points(const struct box *box, const struct options *options, struct error *error);

#endif
