/* SPDX-License-Identifier: Apache-2.0
 *
 * Shims of version managers: a shim only finds out which of several installed programs to start. hutch finds
 * out itself, by the rules that pyenv, asdf, Volta and mise document, because the managers' own files are not
 * visible inside. A place that the command may have written never decides; a version is a name, never a path.
 */
#ifndef HUTCH_COMMAND_SHIMS_H
#define HUTCH_COMMAND_SHIMS_H

#include "command/directories.h"
#include "grants/resolver.h"
#include "lib/err.h"

struct shim {
        char *program; /* what the shim starts; NULL when the file is not a shim */
        char *runtime; /* the node that a package of Volta was installed with, or NULL */
};

/* Finds what the file at `path` (absolute, normal) starts if it is a shim; the caller frees both strings.
 * False when the program of a shim is not installed (127), when its version cannot be chosen safely (125),
 * and for snap's shims (126). */
bool shims_follow(const char *path, const struct resolver *resolver, struct shim *shim);

#endif
