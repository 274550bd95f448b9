/* SPDX-License-Identifier: Apache-2.0
 *
 * The fetch sandbox: one command with the registries as its network, the directory to fill as the tool's
 * cache, and no grant of the user's. It is a `hutch run` like any other. What runs in it is hostile.
 */
#ifndef HUTCH_FETCH_SANDBOX_H
#define HUTCH_FETCH_SANDBOX_H

#include "fetch/plan.h"

/* The path inside, in the home, of the directory to fill; the caller frees. */
char *fetch_sandbox_place(const struct fetch_plan *plan);

/* Runs `words`, which it frees, in `cwd`, a path inside, as the plan says; cwd NULL: in the home. Of the
 * user's options --network-allow, --timeout and --verbose count. False with a sentence when it fails, takes
 * too long or writes too much, after its last lines were printed. */
bool fetch_sandbox_run(const struct fetch_plan *plan, struct str_list *words, const char *cwd,
                       struct error *error);

#endif
