/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds of option values: paths, sizes and numbers. `option` is the name for messages, with its dashes. A
 * wrong value is status 2.
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

/* The same with a minimum. A smaller value usually lacks its unit, and the message proposes one. */
bool value_read_size_from(const char *option, const char *text, uint64_t least, uint64_t *bytes,
                          struct error *error);

/* A whole number from 1 to `most`. */
bool value_read_count(const char *option, const char *text, unsigned most, unsigned *count,
                      struct error *error);

/* A number of processors with at most two places, as hundredths; at least one of them. */
bool value_read_cpus(const char *option, const char *text, unsigned *hundredths, struct error *error);

/* Adds the names of a --require list to *required, as bits of limits/limits.h. */
bool value_read_require(const char *text, unsigned *required, struct error *error);

#endif
