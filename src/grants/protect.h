/* SPDX-License-Identifier: Apache-2.0
 *
 * What the person's own programs run or obey later, inside a writable grant: it stays read-only where it
 * exists, and what a run puts in its place where it does not is said at the end. Nothing is ever created.
 */
#ifndef HUTCH_GRANTS_PROTECT_H
#define HUTCH_GRANTS_PROTECT_H

#include "box/box.h"
#include "grants/mounts.h"
#include "options/options.h"

/* Adds the read-only mounts, and binds on itself every directory between a writable grant and any mount below
 * it: a directory that is a mount point cannot be renamed, so that no path leads around the mount. Call when
 * the box has every other mount. What is to be looked at again later goes to held->watched. Status 2 when
 * --protect names what is in no writable grant, or does not exist. */
bool protect_add(struct box *box, struct held_sources *held, const struct options *options, const char *cwd,
                 struct error *error);

/* True when `path` inside is, holds or lies below a name that is protected by default in the person's own
 * grant that has the place: also where nothing is there yet. */
bool protect_names(const struct box *box, const char *path);

/* Says which protected names came into being during the run, each once however often it is called. Opens
 * nothing and follows no link: the supervisor may do neither, and the sandbox had the directories in its
 * hands.
 */
void protect_report(struct held_sources *held);

/* Adds the paths of the directories in which such a name would come into being; some may not exist. */
void protect_list_directories(const struct held_sources *held, struct str_list *directories);

/* True when something new of this name in one of those directories is worth a report. */
bool protect_may_concern(const struct held_sources *held, const char *name);

void protect_release(struct held_sources *held);

#endif
