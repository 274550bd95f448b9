/* SPDX-License-Identifier: Apache-2.0
 *
 * The environment of a project for `uv run`, where the project has none: made in the fetch sandbox and kept
 * as an entry. Packages that are downloaded and built see only the project's list of dependencies; the
 * project itself is built afterwards, without a network.
 */
#ifndef HUTCH_FETCH_PROJECT_H
#define HUTCH_FETCH_PROJECT_H

#include "fetch/plan.h"

bool fetch_project(struct fetch_plan *plan, struct error *error);

#endif
