/* SPDX-License-Identifier: Apache-2.0
 *
 * struct resolver: what every step of making one box reads and fills. The steps and their order are in
 * resolve/resolve.c; each returns false with *error set when the sandbox must not start.
 */
#ifndef HUTCH_GRANTS_RESOLVER_H
#define HUTCH_GRANTS_RESOLVER_H

#include "box/box.h"
#include "grants/held_sources.h"
#include "options/options.h"

/* Paths are absolute, and as the caller spells them. */
struct resolver {
        const struct options *options;
        const char *search_path; /* $PATH; NULL: the system's own directories */
        const char *cwd;  /* the caller's working directory: a relative path of an option begins here */
        const char *work; /* --cwd, else cwd: a relative argument of the command begins here */
        const char *home; /* of the caller; "" when there is none */
        struct box *box;  /* the result, with the mounts of the earlier steps */
        struct held_sources *held;
        struct template *template;       /* policy/template.h */
        struct toolchain *toolchain;     /* command/toolchain.h */
        struct package_mounts *packages; /* packages/mounts.h */
        struct error *error;
};

static inline struct walker *resolver_walker(const struct resolver *resolver)
{
        return &resolver->held->walker;
}

/* The real path of the caller's home; "" when there is none. */
static inline const char *resolver_real_home(const struct resolver *resolver)
{
        const char *real =
            resolver->home[0] ? path_walk_real(resolver_walker(resolver), resolver->home) : NULL;
        return real ? real : "";
}

#endif
