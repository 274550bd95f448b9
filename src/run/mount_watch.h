/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens on the host, while a sandbox runs, at the places of its mounts. A mount point that somebody
 * outside replaces (git and most editors write a new file and rename it over the old one) takes the mount
 * with it: what was hidden or read-only there no longer is. It cannot be put back without a gap, so it is
 * said, and what the person asked for by an option ends the sandbox.
 */
#ifndef HUTCH_RUN_MOUNT_WATCH_H
#define HUTCH_RUN_MOUNT_WATCH_H

#include "box/box.h"
#include "grants/held_sources.h"

struct mount_watch;

/* Remembers what is at the mount points that lie in a grant; before any of the mounts is made. NULL when
 * there is nothing to watch, which costs nothing. Both arguments must outlive it. */
struct mount_watch *mount_watch_new(const struct box *box, struct held_sources *held, bool sockets_guarded);

/* Begins to listen for changes and says what has changed already. Not at the start: giving up what listens
 * takes the kernel milliseconds, which a short run is spared. False when the sandbox must end, which was
 * said. */
bool mount_watch_begin(struct mount_watch *watch);

/* Readable when something has happened; -1 when there is nothing to listen for. */
int mount_watch_descriptor(const struct mount_watch *watch);

/* Takes what has happened. False when the sandbox must end, which was said. */
bool mount_watch_read(struct mount_watch *watch);

/* A last look, for a run too short for mount_watch_begin(). False when what was asked for did not hold. */
bool mount_watch_finish(struct mount_watch *watch);

void mount_watch_free(struct mount_watch *watch);

#endif
