/* SPDX-License-Identifier: Apache-2.0
 *
 * The environment of a project for `uv run`, where the project has none: made in the fetch sandbox and kept
 * as an entry. Packages that are downloaded and built see only the project's list of dependencies; the
 * project itself is built afterwards, without a network.
 */
#ifndef HUTCH_FETCH_PROJECT_H
#define HUTCH_FETCH_PROJECT_H

#include "fetch/plan.h"
#include "options/options.h"
#include "packages/entry.h"
#include "packages/request.h"

/* Fills the cache (a descriptor) and records in the entry what a server needs to use it. */
bool fetch_project(int cache, const struct fetch_request *request, const struct options *options,
                   struct fetch_plan *plan, struct entry *entry, struct error *error);

#endif
