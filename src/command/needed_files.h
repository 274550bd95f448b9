/* SPDX-License-Identifier: Apache-2.0
 *
 * What one needed file brings: its project, and the files that it leads to: the target of a link, the
 * interpreter of a script, the base of a virtual environment, the program of a version manager's shim.
 *
 * Theory of operation. hutch decides on behalf of the user, before the sandbox exists, from files that
 * somebody else may have written. Two parties are hostile: the server in an earlier run, which could write
 * every directory that was granted to it writable, and whoever made a clone or an archive that the user
 * unpacked. Both can make any link, any #! line and any marker of a project where they write, and neither a
 * reference nor the look of its target tells who made it: a private directory may honestly have a virtual
 * environment, or bin beside lib.
 *
 * So only a path that the user types, or that is found on PATH, is the user's word. It makes its project one
 * of finding->projects, by real path. Where links are on its way, that is the project of the first link: a
 * clone with a link to another project would otherwise choose that one. Links in the host tree, in the home
 * itself and above it do not count, because neither party writes there.
 *
 * Every file that is reached from there is granted only in one of these projects, in an installation
 * (installations.h), in the host tree, or where it is visible anyway. All else brings one note, and nothing
 * behind it is followed. A file in a writable grant leads to no project: the grant itself shows what is in
 * it. Each grant is a real path that the walker found unchanged, so what was judged is what is mounted.
 */
#ifndef HUTCH_COMMAND_NEEDED_FILES_H
#define HUTCH_COMMAND_NEEDED_FILES_H

#include "command/toolchain.h"
#include "grants/resolver.h"

#include <stdbool.h>

/* What toolchain.c and this module share while they find what one command needs. */
struct finding {
        const struct resolver *resolver;
        struct str_list projects; /* real paths: how far a reference may lead without an installation */
        bool doubted; /* a note already names a reference that is not followed; one note is enough */
        struct toolchain *result;
};

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
