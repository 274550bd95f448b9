/* SPDX-License-Identifier: Apache-2.0
 *
 * What of hutch's own data directory a sandbox gets: the entry with the packages that `npx` or `uvx` asks
 * for, as the lower layer of npm's or uv's cache in the home; the directory that `hutch fetch` fills; and the
 * home of
 * --persist. Nothing else of that directory is ever shown.
 */
#ifndef HUTCH_PACKAGES_MOUNTS_H
#define HUTCH_PACKAGES_MOUNTS_H

#include "box/box.h"
#include "command/toolchain.h"
#include "grants/held_sources.h"
#include "options/options.h"
#include "packages/entry.h"

/* The entry that a server gets. Zero it to begin. */
struct package_mounts {
        struct entry entry;
        char *source; /* its cache on the host, a real path; NULL: none is used */
        char *place;  /* where that is inside, by the home as it is spelled */
};

void package_mounts_release(struct package_mounts *use);

/* Adds what the options and the command need. False with box->fetch_first set, and no error, when an entry is
 * missing that is to be fetched first; false with a sentence where it must not be, since the command would
 * only try for a minute. toolchain->fetches is false afterwards where an entry is there. The entry stays
 * locked until the process ends. `work` is where the paths in the command begin. */
bool package_mounts_add(struct box *box, struct held_sources *held, const struct options *options,
                        const char *work, struct toolchain *toolchain, struct package_mounts *use,
                        struct error *error);

#endif
