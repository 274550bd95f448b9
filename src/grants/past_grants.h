/* SPDX-License-Identifier: Apache-2.0
 *
 * The host paths that any earlier run could write to, in $XDG_STATE_HOME/hutch/writable (default
 * ~/.local/state): each real path with a NUL behind it. What is below one may be the work of a server, also
 * in a run that does not grant it: a link there could lead a later grant to another directory, and a missing
 * package.json could widen the project that a command brings. The file holds paths and nothing else. It is
 * read only when a path leads through a link, or when a project is searched.
 */
#ifndef HUTCH_GRANTS_PAST_GRANTS_H
#define HUTCH_GRANTS_PAST_GRANTS_H

#include "grants/resolver.h"

/* The writable path of an earlier run that is or contains the real path `real`, the deepest of several; or
 * NULL. */
const char *past_grants_find(const struct resolver *resolver, const char *real);

/* The same for a link that leads to the real path `reached` outside of that writable path; else NULL. */
const char *past_grants_find_left(const struct resolver *resolver, const char *link, const char *reached);

/* The same for the first such link of a walk. */
const char *past_grants_find_escape(const struct resolver *resolver, const struct walked *walked);

/* Adds the writable grants of a box that runs, which must not be able to write to hutch's state. `runs`: the
 * directory of run_store.h. */
void past_grants_keep(int runs, const struct box *box);

#endif
