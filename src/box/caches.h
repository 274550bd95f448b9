/* SPDX-License-Identifier: Apache-2.0
 *
 * What of hutch's own data folder a sandbox gets: the entry with the packages that `npx` or `uvx` asks for,
 * as the lower layer of npm's or uv's cache in the home; the folder that `hutch fetch` fills; and the home of
 * --persist. Nothing else of that folder is ever shown.
 */
#ifndef HUTCH_BOX_CACHES_H
#define HUTCH_BOX_CACHES_H

#include "box/box.h"
#include "box/mounts.h"
#include "box/toolchain.h"
#include "cli/options.h"
#include "fetch/entry.h"

/* What the mount of the home says of itself. */
#define CACHES_PERSIST "--persist"

/* The entry that a server gets. Zero it to begin. */
struct cache_use {
        struct entry entry;
        char *source; /* its cache on the host, a real path; NULL: none is used */
        char *place;  /* where that is inside, by the home as it is spelled */
};

void caches_forget(struct cache_use *use);

/* Adds what the options and the command need. False with box->fetch_first set, and no error, when an entry is
 * missing that is to be fetched first; false with a sentence where it must not be, since the command would
 * only try for a minute. toolchain->fetches is false afterwards where an entry is there. The entry stays
 * locked until the process ends. `work` is where the paths in the command begin. */
bool caches_add(struct box *box, struct held_sources *held, const struct options *options, const char *work,
                struct toolchain *toolchain, struct cache_use *use, struct error *error);

/* Makes the home of --persist the home, after the base was added. */
bool caches_persist(struct box *box, struct held_sources *held, const struct options *options,
                    struct error *error);

/* Makes, in the home of --persist, the places of what is mounted there. Before protect_add(), which
 * holds them in their places. */
bool caches_make_points(const struct box *box, const struct options *options, struct error *error);

#endif
