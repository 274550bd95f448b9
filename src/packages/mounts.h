/* SPDX-License-Identifier: Apache-2.0
 *
 * What a sandbox gets of hutch's data directory: the entry with the packages that `npx` or `uvx` asks for, as
 * the lower layer of npm's or uv's cache in the home. No sandbox but that of a fetch (fetch/sandbox.h) sees
 * anything else of that directory; the home of --persist is persist.h's.
 */
#ifndef HUTCH_PACKAGES_MOUNTS_H
#define HUTCH_PACKAGES_MOUNTS_H

#include "command/toolchain.h"
#include "grants/resolver.h"
#include "packages/entry.h"

/* The entry that a server uses. Zero it to begin. */
struct package_mounts {
        struct entry entry;
        char *source; /* its cache on the host, a real path; NULL when the server uses no entry */
        char *place;  /* the cache's path inside, with the home as the caller spells it */
};

void package_mounts_release(struct package_mounts *use);

/* Adds the mounts that the options and the command need. Relative paths in the command begin at `work`.
 *
 * When an entry is missing and hutch may fetch it, returns false with box->fetch_first set and without an
 * error. When hutch must not fetch it and the sandbox has no network, returns false with an error at once:
 * the command would try for a minute. Where an entry is there, toolchain->fetches becomes false, and the
 * entry stays locked until the process ends. */
bool package_mounts_add(const struct resolver *resolver);

#endif
