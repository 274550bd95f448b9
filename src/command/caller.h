/* SPDX-License-Identifier: Apache-2.0
 *
 * The caller's surroundings, as far as they decide what a command means.
 */
#ifndef HUTCH_COMMAND_CALLER_H
#define HUTCH_COMMAND_CALLER_H

#include "box/box.h"

#include <stdbool.h>

/* All paths are as the caller spells them. */
struct toolchain_caller {
        const char *path; /* $PATH; NULL: the system's own directories */
        const char *cwd;  /* absolute; argv[0] with a `/` is relative to it */
        const char *work; /* absolute; the other arguments are relative to it: --cwd, else cwd */
        const char *home; /* absolute */
        /* The box with the user's grants already in it, or NULL. An earlier run of the same program may have
         * written a link, a `#!` line or a pyvenv.cfg in a writable grant, so these grant nothing but plainly
         * installed interpreters. */
        const struct box *box;
        bool grant_nothing; /* the command and its program are treated like the other arguments: as data */
};

#endif
