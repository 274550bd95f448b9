/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds options that contradict each other, once all are read.
 */
#ifndef HUTCH_OPTIONS_CONFLICTS_H
#define HUTCH_OPTIONS_CONFLICTS_H

#include "options/options.h"

/* Refuses, with status 2, grants and files that differ about one destination. Drops exact repetitions. */
bool conflicts_check(struct options *options, struct error *error);

#endif
