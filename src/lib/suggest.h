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

/* `text` as it can stand in a sentence: printable and cut where it would push the rest of the sentence out.
 * The result lives as long as the enclosing block. */
#define error_shown(text) error_quote((char[224]){0}, 224, (text), strlen(text))

/* True when `length` bytes are a variable's name: [A-Za-z_][A-Za-z0-9_]*. */
bool str_is_variable_name(const char *text, size_t length);

/* The nearest of `names` (NULL-terminated) to `text`, when it is near enough to be meant; else NULL. */
const char *suggest_nearest(const char *text, const char *const *names);

#endif
