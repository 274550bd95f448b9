/* SPDX-License-Identifier: Apache-2.0
 *
 * The directories of kept things in $XDG_DATA_HOME/hutch (default ~/.local/share), one for each kind. In
 * `packages` there is an entry for each request that was fetched. An entry is a directory of the caller's
 * alone (0700). Its `cache` is what hostile programs filled in the fetch sandbox; hutch only mounts it, and
 * only for servers of the same request. Beside it hutch writes `entry.json`, and for a project (project.h)
 * the copy `lists`.
 *
 * Life of an entry. A fetch makes `.new:ENTRY` and fills it. Once it is complete, one rename gives it the
 * name ENTRY; from then on it never changes, so a server sees either the whole entry or none. A later fetch
 * of the same request exchanges the two names, and `hutch fetch --remove` takes the name away: the old
 * directory then has the name `.old:ENTRY:NUMBER` and is removed when no server uses it.
 *
 * Locks (flock on the directories). A fetch holds its unfinished directory's lock exclusively, so two fetches
 * of one request take turns. A running server's supervisor holds its entry's lock shared until it exits, so
 * nobody removes the files of a running server; a replaced entry keeps its lock under its new name. The
 * kernel drops the locks of a killed hutch: a dotted directory that nobody holds was left behind, and the
 * next fetch removes it.
 *
 * Functions return a descriptor or 0, or a negative errno.
 */
#ifndef HUTCH_PACKAGES_STORE_H
#define HUTCH_PACKAGES_STORE_H

#include "lib/str.h"

#include <stdbool.h>

enum store_kind { STORE_PACKAGES };

/* Opens the store of this kind, and with `create` makes what is missing. -ENOENT: it is missing; -EPERM: it
 * is not the caller's alone. */
int store_open(enum store_kind kind, bool create);

/* The real path of hutch's data directory, or the path that it would have when it is missing. NULL without a
 * home. The caller frees. */
char *store_path(void);

/* Opens an entry by its encoded name and locks it shared. -ENOENT: there is none. */
int store_open_entry(enum store_kind kind, int store, const char *file);

/* Makes the unfinished directory of an entry, empty and locked. Waits for another fetch of the same entry,
 * after one call of `waiting`. -EEXIST: that fetch has made the entry. */
int store_begin(int store, const char *file, void (*waiting)(void));

/* Gives the unfinished directory its name. A replaced entry is removed once no server uses it. */
int store_commit(int store, const char *file);

/* Removes the unfinished directory. */
void store_abandon(int store, const char *file);

/* Takes an entry out of the store; its files are removed once no server uses them. -ENOENT: there is none. */
int store_remove(int store, const char *file);

/* Removes what killed fetches left, and the replaced and removed entries that no server uses any more. */
void store_sweep(enum store_kind kind, int store);

/* Adds the encoded names of all entries, sorted. */
void store_list(enum store_kind kind, int store, struct str_list *files);

/* Opens the home of --persist NAME, $XDG_DATA_HOME/hutch/homes/NAME, and makes it where it is missing. */
int store_open_home(const char *name);

#endif
