/* SPDX-License-Identifier: Apache-2.0
 *
 * The directory $XDG_DATA_HOME/hutch/packages (default ~/.local/share): an entry for each request that was
 * fetched. An entry is a directory of the caller's alone (0700) with `cache`, which hostile programs filled
 * in the fetch sandbox and which is only ever shown to servers of the same request, and `entry.json`, which
 * hutch wrote outside. It appears under its name in one step and never changes afterwards.
 *
 * Locks (flock on the directories): a fetch holds its unfinished directory's, a running server its entry's,
 * shared. A directory that nobody holds and that is no entry was left by a killed hutch, and the next fetch
 * removes it. Functions return a descriptor or 0, or a negative errno.
 */
#ifndef HUTCH_PACKAGES_STORE_H
#define HUTCH_PACKAGES_STORE_H

#include "lib/str.h"

#include <stdbool.h>

/* Opens the store; `create`: makes what is missing. -ENOENT without it; -EPERM: what is there is not the
 * caller's alone. */
int store_open(bool create);

/* The real path of hutch's data directory, where it would be if it is missing; the caller frees. NULL without
 * a home. */
char *store_path(void);

/* Opens an entry by its encoded name, locked shared. -ENOENT: there is none. */
int store_open_entry(int store, const char *file);

/* Makes the unfinished directory of an entry, empty, locked. Waits for another fetch of the same: `waiting`
 * is called once if it has to. -EEXIST: the other one has made the entry. */
int store_begin(int store, const char *file, void (*waiting)(void));

/* Gives the unfinished directory its name; what had it before is removed once no server uses it. */
int store_commit(int store, const char *file);

/* Removes the unfinished directory. */
void store_abandon(int store, const char *file);

/* Takes an entry away. -ENOENT: there is none. Its files go when no server uses them. */
int store_remove(int store, const char *file);

/* Removes what killed fetches left and what no server uses any more. */
void store_sweep(int store);

/* The encoded names of all entries, sorted. */
void store_list(int store, struct str_list *files);

/* Opens, and makes where it is missing, the home of --persist NAME: $XDG_DATA_HOME/hutch/homes/NAME. */
int store_open_home(const char *name);

#endif
