/* SPDX-License-Identifier: Apache-2.0
 *
 * Options that contradict each other, once all are read.
 */
#ifndef HUTCH_OPTIONS_CONFLICTS_H
#define HUTCH_OPTIONS_CONFLICTS_H

#include "options/options.h"

/* Grants and files that say two things about one place: status 2 with a sentence. What says the same twice
 * becomes one. */
bool conflicts_check(struct options *options, struct error *error);

#endif
