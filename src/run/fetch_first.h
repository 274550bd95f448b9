/* SPDX-License-Identifier: Apache-2.0
 *
 * Fetching the packages of a command before its sandbox starts.
 */
#ifndef HUTCH_RUN_FETCH_FIRST_H
#define HUTCH_RUN_FETCH_FIRST_H

#include "options/options.h"

/* Runs `hutch-fetch -- COMMAND`, which has its own sandbox and dies with this process, and passes its lines
 * on. False with a sentence when it failed. */
bool fetch_first(const struct options *options, struct error *error);

#endif
