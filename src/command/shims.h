/* SPDX-License-Identifier: Apache-2.0
 *
 * Shims of version managers: a file that only finds out which of several installed programs to start. hutch
 * finds it out itself, as pyenv, asdf, Volta and mise document it, because inside the managers' own files are
 * not there. A place that the command may have written never decides; a version is a name, never a path.
 */
#ifndef HUTCH_COMMAND_SHIMS_H
#define HUTCH_COMMAND_SHIMS_H

#include "command/directories.h"
#include "command/toolchain.h"
#include "lib/err.h"

struct shim {
        char *program; /* what the shim starts; NULL: it is none */
        char *runtime; /* the node that a package of Volta was installed with, or NULL */
};

/* What the shim at `path` (absolute, normal) starts; free both strings. False when it is one, and what it
 * would start cannot be found (127) or said safely (125), or when it is snap's (126). */
bool shims_follow(const char *path, const struct toolchain_caller *caller,
                  const struct directories *directories, struct shim *shim, struct error *error);

/* What `node` is given by a script that pnpm or npm wrote in the place of a link (its cmd-shim), as a path
 * from the script's own directory; or NULL when the file is none. The caller frees. */
char *shims_read_node_script(const char *file);

#endif
