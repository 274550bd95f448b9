/* SPDX-License-Identifier: Apache-2.0
 *
 * The fetch sandbox: one command with the registries as its network, the directory to fill as the tool's
 * cache, and nothing of the person's. It is a sandbox like any other, made by resolve_box(); what runs in it
 * is hostile.
 */
#ifndef HUTCH_FETCH_SANDBOX_H
#define HUTCH_FETCH_SANDBOX_H

#include "fetch/plan.h"
#include "lib/err.h"
#include "options/options.h"

#include <stdbool.h>

/* Where the directory to fill is inside, in the home; the caller frees. */
char *fetch_sandbox_place(enum fetch_tool tool);

/* Runs `words` in `cwd`, a path inside, as the plan says. `cache`: the directory to fill; `person`:
 * --network-allow, --timeout and
 * --verbose count. False with a sentence when it fails, takes too long or writes too much; what it wrote is
 * said then. */
bool fetch_sandbox_run(int cache, enum fetch_tool tool, const struct fetch_plan *plan,
                       const struct str_list *words, const char *cwd, const struct options *person,
                       struct error *error);

#endif
