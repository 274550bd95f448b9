/* SPDX-License-Identifier: Apache-2.0
 *
 * A cache for the programs of the user's profiles, in $XDG_CACHE_HOME/hutch/seccomp (or
 * ~/.cache/hutch/seccomp). An entry contains everything that its program was made from, and is used only when
 * all of that is equal. Who can write to the cache chooses the filter: no sandbox may get it as a writable
 * grant.
 */
#ifndef HUTCH_SECCOMP_CACHE_H
#define HUTCH_SECCOMP_CACHE_H

#include "lib/err.h"
#include "seccomp/program.h"

#include <stddef.h>

/* As seccomp_compile(), from the cache where it can. A cache that cannot be used costs time and nothing else.
 */
bool seccomp_compile_cached(const char *name, const char *json, size_t length,
                            struct seccomp_program *program, struct error *error);

#endif
