/* SPDX-License-Identifier: Apache-2.0
 *
 * Which program of a package npx, `npm exec`, uvx and `uv tool run` start, and with which arguments. Words
 * in, words out: it looks at no file. It knows only plain command lines; where an option, or the place of a
 * word, could mean more, the tool itself must decide.
 */
#ifndef HUTCH_PACKAGES_PROGRAM_H
#define HUTCH_PACKAGES_PROGRAM_H

#include "lib/str.h"

#include <stdbool.h>

struct fetch_program {
        bool uv;
        char *package;         /* as written */
        struct str_list words; /* the program's name and its arguments; the name is "" where npm chooses it */
};

/* Reads the words. False where they are not plain. The caller frees the program in both cases. */
bool fetch_program_read(const struct str_list *command, struct fetch_program *program);
void fetch_program_free(struct fetch_program *program);

#endif
