/* SPDX-License-Identifier: Apache-2.0
 *
 * What one needed file brings: its project, and the files that it leads to: the target of a link, the
 * interpreter of a script, the base of a virtual environment, the program of a version manager's shim.
 *
 * Theory of operation. hutch decides from files that somebody else may have written: the server in an earlier
 * run, or whoever made a clone. Only a path that the user types, or that is found on PATH, is the user's
 * word. It makes its project one of finding->projects, by real path: that of the first link on its way, where
 * that is a link, so that a link never chooses the project. Every file that is reached from there is granted
 * only in one of these projects, in an installation (installations.h), in the host tree, or where it is
 * visible anyway. All else brings one note. A file in a writable grant leads to no project.
 */
#ifndef HUTCH_COMMAND_NEEDED_FILES_H
#define HUTCH_COMMAND_NEEDED_FILES_H

#include "command/finding.h"

#include <stdbool.h>

/* Why a file is needed. */
struct need {
        const char *why;
        const char *from; /* the file that names it; NULL: the user does */
        bool executable;  /* the kernel starts it: a #! line counts */
        unsigned depth;   /* how many interpreters led to it */
};

/* Adds what the file or directory at `path` (absolute) needs; nothing when it does not exist. False with
 * status 125 when it must not be granted, 126 or 127 when an interpreter cannot be started. */
bool needed_files_add(struct finding *finding, const char *path, struct need need);

/* Adds the interpreter of the script `file`, which was called as `called`. Errors as above. */
bool needed_files_add_interpreter(struct finding *finding, const char *called, const char *file,
                                  struct need need);

/* Makes the project of a path that the user named one to which references may lead. */
void needed_files_add_project(struct finding *finding, const char *path);

/* `word` relative to `base`, with each `..` as it is: behind a link it is not the directory before it. The
 * caller frees. */
char *needed_files_join(const char *base, const char *word);

enum place { FIRST, LAST };

/* Puts the program's directory among those that come before the template's on the sandbox's PATH. */
void needed_files_put_on_path(struct finding *finding, const char *program, enum place place);

#endif
