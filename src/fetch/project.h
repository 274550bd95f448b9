/* SPDX-License-Identifier: Apache-2.0
 *
 * The environment of a project that `uv run` starts from, for a project that has none: it is made in the
 * fetch sandbox and kept as an entry. What is downloaded, and builds itself, sees of the project its list of
 * dependencies and nothing else; the project itself is built afterwards, without a network.
 */
#ifndef HUTCH_FETCH_PROJECT_H
#define HUTCH_FETCH_PROJECT_H

#include "command/directories.h"
#include "fetch/plan.h"
#include "options/options.h"
#include "packages/entry.h"
#include "packages/request.h"

/* Fills the cache (a descriptor) and says in the entry what a server needs to use it. */
bool fetch_project(int cache, const struct fetch_request *request, const struct options *options,
                   struct fetch_plan *plan, struct entry *entry, struct error *error);

#endif
