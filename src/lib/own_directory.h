/* SPDX-License-Identifier: Apache-2.0
 *
 * hutch's own directories below those of the XDG base directory specification. Each belongs to the caller and
 * has mode 0700, so that no other account can read or plant anything in it. Functions return a descriptor, or
 * a negative errno.
 */
#ifndef HUTCH_LIB_OWN_DIRECTORY_H
#define HUTCH_LIB_OWN_DIRECTORY_H

#include <stdbool.h>

/* An XDG directory: its variable, and its default below the home. */
struct own_base {
        const char *variable, *below_home;
};
extern const struct own_base own_base_state; /* $XDG_STATE_HOME */

/* Opens the directory `hutch` of an XDG directory, and with `create` makes what is missing, but never a home.
 * -ENOENT: it is missing; -EPERM: it is not the caller's alone. */
int own_directory_of(const struct own_base *base, bool create);

/* The same for the directory `name` of `parent`. It follows no link. */
int own_directory_open(int parent, const char *name, bool create);

/* Why opening failed, for a sentence. `error`: what the function returned. */
const char *own_directory_explain(int error);

/* The path that own_directory_of() opens, which may not exist; NULL without a home. The caller frees. */
char *own_directory_path(const struct own_base *base);

#endif
