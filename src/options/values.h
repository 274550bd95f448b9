/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds of value that options have: paths, sizes and numbers. `option` stands in messages, with its dashes;
 * what is wrong is status 2.
 */
#ifndef HUTCH_OPTIONS_VALUES_H
#define HUTCH_OPTIONS_VALUES_H

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

/* The kernel's own bound for one string of the environment, with its NUL. */
enum { ENV_VARIABLE_MAX = 128 * 1024 };

/* A copy of `text` with a leading `~` or `~/` replaced by the caller's home: a client's config runs through
 * no shell that would have done it. Replaces *path, which the caller frees. */
bool value_expand_path(const char *option, const char *text, char **path, struct error *error);

/* A number of bytes, at least 1, with k, m or g behind it for units of 1024. */
bool value_read_size(const char *option, const char *text, uint64_t *bytes, struct error *error);

/* The same, from `least` on: fewer is a forgotten unit, and the sentence proposes one. */
bool value_read_size_from(const char *option, const char *text, uint64_t least, uint64_t *bytes,
                          struct error *error);

/* A whole number from 1 to `most`. */
bool value_read_count(const char *option, const char *text, unsigned most, unsigned *count,
                      struct error *error);

/* A number of processors with at most two places, as hundredths; at least one of them. */
bool value_read_cpus(const char *option, const char *text, unsigned *hundredths, struct error *error);

/* A list of what must be enforced, added to *required as bits of limits/limits.h. */
bool value_read_require(const char *text, unsigned *required, struct error *error);

#endif
