/* SPDX-License-Identifier: Apache-2.0
 *
 * What the command needs in order to start: its own file, the files that it links to, its interpreter, and
 * the program that it names in its arguments (`node /abs/build/index.js`). The result is a list of read-only
 * grants. The list never has a directory that would show more than a program's own files (the home, /tmp,
 * /etc, what grants/sensitive_paths.h refuses). Arguments that are data are only listed.
 *
 * Theory of operation of this directory. The command's words (command.h) name one or two files (search.h,
 * runners.h), and these are the user's word. Each file leads to the next: a link to its target, a script to
 * its interpreter, a shim to the program that it starts (shims.h), a virtual environment to its base. Each
 * place on the way outside the host tree brings the grant that it needs (needed_files.h): its project
 * (directories.h), its installation (installations.h) or nothing. Every link on the way is shown as a link,
 * so that the path that the user spells leads to the same file inside, and a program finds its neighbours
 * beside the target. Every step reads what an earlier run of the command or the author of a clone may have
 * written; neither of them chooses what it grants. Everything here only looks; resolve/ adds the grants to
 * the box.
 */
#ifndef HUTCH_COMMAND_TOOLCHAIN_H
#define HUTCH_COMMAND_TOOLCHAIN_H

#include "command/command.h"
#include "command/grant_list.h"
#include "grants/resolver.h"
#include "lib/err.h"
#include "lib/str.h"

#include <stdbool.h>

struct toolchain {
        struct command command;      /* what the words mean */
        char *executable;            /* absolute and normal, as spelled, links not resolved */
        struct grant_list grants;    /* none is below another one */
        struct str_list front;       /* directories to put before the template's on PATH */
        struct str_list data;        /* absolute paths of other arguments that exist on the host */
        struct str_list environment; /* KEY=VALUE that the command needs to use what is installed */
        struct str_list notes;       /* sentences for the user */
        bool fetches;                /* the command would download what it starts */
        bool missing;                /* the package that npx or uvx is asked for is not installed */
};

/* Finds all of it. False with status 127: there is no such command (the sentence names the PATH and copies in
 * known places); 126: it is a directory or not executable; 125: a needed file must not be granted. The caller
 * frees the result in every case. */
bool toolchain_find(const struct resolver *resolver);

void toolchain_free(struct toolchain *toolchain);

#endif
