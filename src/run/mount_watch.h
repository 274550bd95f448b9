/* SPDX-License-Identifier: Apache-2.0
 *
 * Watches the mount points of a running sandbox on the host. When a program outside replaces the object at a
 * mount point (git and most editors write a new file and rename it over the old one), the kernel drops the
 * mount, and what was hidden or read-only there no longer is. The mount cannot be restored without a gap. So
 * the watch reports the loss, and ends the sandbox when the user had asked for that mount by an option.
 */
#ifndef HUTCH_RUN_MOUNT_WATCH_H
#define HUTCH_RUN_MOUNT_WATCH_H

#include "box/box.h"
#include "grants/held_sources.h"

struct mount_watch;

/* Remembers what is at the mount points below grants. Call before any of the mounts is made. NULL when there
 * is nothing to watch. Both structures must outlive the result. */
struct mount_watch *mount_watch_new(const struct box *box, struct held_sources *held, bool sockets_guarded);

/* Starts inotify and reports what has changed already. Not called at the start, because closing an inotify
 * descriptor costs milliseconds in the kernel and a short run is spared them. False when the sandbox must
 * end; a message has said why. */
bool mount_watch_begin(struct mount_watch *watch);

/* The descriptor that becomes readable when something happened, or -1. */
int mount_watch_descriptor(const struct mount_watch *watch);

/* Handles the events. False when the sandbox must end; a message has said why. */
bool mount_watch_read(struct mount_watch *watch);

/* Compares once at the end of a run that was too short for mount_watch_begin(). False when what the user
 * asked for did not hold. */
bool mount_watch_finish(struct mount_watch *watch);

void mount_watch_free(struct mount_watch *watch);

#endif
