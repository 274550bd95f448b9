/* SPDX-License-Identifier: Apache-2.0
 *
 * From one needed file to the next: from a link to its target, from a script to its interpreter, from a
 * version manager's shim to the program that it starts. Each file brings its grants (file_grants.h). A step
 * that an earlier run of the command may have forged grants only installed interpreters and what is visible
 * anyway (trust.h).
 */
#ifndef HUTCH_COMMAND_NEEDED_FILES_H
#define HUTCH_COMMAND_NEEDED_FILES_H

#include "command/finding.h"

#include <stdbool.h>

/* Why a file is needed, and what is known about the way to it. */
struct need {
        const char *why;
        bool executable; /* the kernel starts it: a #! line counts */
        bool trusted;    /* no reference on the way to it may be the command's own work */
        unsigned depth;  /* how many interpreters led to it */
};

/* Adds the file at `path`, its links and its interpreters. False with status 125 when one of them must not be
 * granted, 126 or 127 when an interpreter cannot be started. */
bool needed_files_add(struct finding *finding, const char *path, struct need need);

/* Adds the interpreter of the script `file`, which was called as `called`. Errors as above. */
bool needed_files_add_interpreter(struct finding *finding, const char *called, const char *file,
                                  struct need need);

/* Judges the links on the way to the directory `path`. need->trusted becomes false where one is in doubt, and
 * the first doubt adds a note. False with status 125 when the directory must not be granted at all. */
bool needed_files_judge_way(struct finding *finding, const char *path, struct need *need);

/* `word` relative to `base`, folded as text where that names the same file, else its real path: `..` behind a
 * link is not the directory before it. A real path hides its links from later steps, so *trusted becomes
 * false where the command may have made one. The caller frees. */
char *needed_files_spell(const struct finding *finding, const char *base, const char *word, bool *trusted);

/* Puts the program's directory on the sandbox's PATH, before or after the directories put there earlier, and
 * before those of the template. */
enum place { FIRST, LAST };
void needed_files_put_on_path(struct finding *finding, const char *program, enum place place);

#endif
