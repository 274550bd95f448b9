/* SPDX-License-Identifier: Apache-2.0
 *
 * `hutch fetch`: what npx and uvx ask a registry for is downloaded once, in a sandbox that has nothing of the
 * person's, and kept (packages/store.h); servers start from it offline.
 */
#ifndef HUTCH_FETCH_FETCH_H
#define HUTCH_FETCH_FETCH_H

#include "lib/err.h"
#include "options/options.h"

/* Runs it with options that options_parse() read. Returns the exit status, or *error set. */
int fetch(const struct options *options, struct error *error);

#endif
