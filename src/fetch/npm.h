/* SPDX-License-Identifier: Apache-2.0
 *
 * What npm leaves in its cache after `npm exec`: a directory for the request with a lock file. hutch reads it
 * before any install script runs, so npm wrote it; the texts in it still come from a registry.
 */
#ifndef HUTCH_FETCH_NPM_H
#define HUTCH_FETCH_NPM_H

#include "lib/err.h"
#include "packages/entry.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

/* Adds the packages that the cache (a descriptor) has for its one request, where their programs are, and
 * which of `package`, as it is asked for, npm would start. *directory becomes the name of their directory
 * below
 * `_npx`, which the caller frees; *scripts whether one has an install script. */
bool npm_read_packages(int cache, const char *package, struct entry *entry, char **directory, bool *scripts,
                       struct error *error);

/* Which program of a manifest npm starts for the package: the only one, the first of several names for one
 * file, the one with the package's name; or NULL. `written` is the manifest as its author wrote it, where the
 * names have their order. The caller frees. */
char *npm_choose_program(const char *name, const cJSON *bin, const cJSON *written);

/* Compares every archive that the entry names with its integrity. False with a sentence about the first that
 * differs or is missing. */
bool npm_verify(int cache, const struct entry *entry, struct error *error);

#endif
