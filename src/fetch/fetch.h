/* SPDX-License-Identifier: Apache-2.0
 *
 * `hutch fetch`: downloads once what npx and uvx ask a registry for, in a sandbox without any grant of the
 * user's, and keeps it (packages/store.h). Servers start from it offline.
 */
#ifndef HUTCH_FETCH_FETCH_H
#define HUTCH_FETCH_FETCH_H

#include "lib/err.h"
#include "options/options.h"

/* Runs it with options that options_parse() read. Returns the exit status, or *error set. */
int fetch(const struct options *options, struct error *error);

#endif
