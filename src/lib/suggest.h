/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that people write: the grammar of an environment variable's name, the nearest of several names, and
 * how a name of any length and content stands in a sentence. It decides about text only and never looks at a
 * file.
 */
#ifndef HUTCH_LIB_SUGGEST_H
#define HUTCH_LIB_SUGGEST_H

#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The nearest of `names` (NULL-terminated) to `text`, when it is near enough to be meant; else NULL. */
const char *suggest_nearest(const char *text, const char *const *names);

#endif
