/* SPDX-License-Identifier: Apache-2.0
 *
 * What the command needs in order to start: where it lies, what it links to, its interpreter, and the program
 * that it names in its arguments (`node /abs/build/index.js`). The result is a list of read-only grants. A
 * directory that would open more than a program's own files (the home, /tmp, /etc, what
 * grants/sensitive_paths.h refuses) is never in it; arguments that are data are only listed.
 */
#ifndef HUTCH_COMMAND_TOOLCHAIN_H
#define HUTCH_COMMAND_TOOLCHAIN_H

#include "box/box.h"
#include "lib/err.h"
#include "lib/str.h"

#include <stdbool.h>
#include <stddef.h>

/* The caller's surroundings, all as the caller spells them. */
struct toolchain_caller {
        const char *path; /* $PATH; NULL: the system's own directories */
        const char *cwd;  /* absolute; argv[0] with a `/` is relative to it */
        const char *work; /* absolute; the other arguments are relative to it: --cwd, else cwd */
        const char *home; /* absolute */
        /* The box with the person's grants already in it, or NULL. A link, a `#!` line or a pyvenv.cfg in a
         * writable grant may have been written by an earlier run of the very program, so it grants nothing
         * that is not plainly an installed interpreter. */
        const struct box *box;
        bool grant_nothing; /* what the words name is data, like the rest */
};

struct toolchain_grant {
        char *path; /* absolute, normal, as spelled: both the source (links in it are followed) and the
                       destination */
        char *link; /* not NULL: `path` is a symbolic link that is granted alone; put a link with this text
                       there */
        char *why;  /* "the command", "interpreter of …", "program of the command"… */
};

struct toolchain {
        char *executable;               /* absolute and normal, as spelled, links not resolved */
        struct toolchain_grant *grants; /* no path below another that is a directory */
        size_t grant_count;
        struct str_list front;       /* directories to put before the template's on PATH */
        struct str_list data;        /* absolute paths of other arguments that exist on the host */
        struct str_list environment; /* KEY=VALUE that the command needs to use what is installed */
        struct str_list notes;       /* sentences for the person */
        bool fetches;                /* the command would download what it starts */
        bool missing;                /* what npx or uvx are asked for is not installed */
};

/* Finds it all. 127: no such command (names the PATH and copies in known places), 126: it is a directory or
 * not executable, 125: the program itself may not be granted. Free the result in every case. */
bool toolchain_find(const struct str_list *command, const struct toolchain_caller *caller,
                    struct toolchain *toolchain, struct error *error);

void toolchain_free(struct toolchain *toolchain);

/* One note on stderr for each of `data` that no mount of the finished box shows. */
void toolchain_note_unseen(const struct toolchain *toolchain, const struct box *box);

#endif
