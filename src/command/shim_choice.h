/* SPDX-License-Identifier: Apache-2.0
 *
 * Which version of a tool a version manager's shim starts: what the managers have in common. The first source
 * that names a version decides, in each manager's order: a variable of the caller, the nearest file from the
 * working directory upward, the manager's default. A file that the command may have written never decides,
 * and a version is a name, never a path.
 *
 * Functions that return bool fill the error when they return false: 125 when the choice cannot be made
 * safely, 127 when the chosen program is not installed.
 */
#ifndef HUTCH_COMMAND_SHIM_CHOICE_H
#define HUTCH_COMMAND_SHIM_CHOICE_H

#include "command/directories.h"
#include "command/shims.h"
#include "command/versions.h"
#include "grants/resolver.h"
#include "lib/err.h"

#include <stdbool.h>

struct shim_choice {
        const struct resolver *resolver;
        const char *manager; /* its name, for messages */
        const char *path;    /* of the shim */
        const char *name;    /* of the program: the path's last component */
        const char *root;    /* the manager's directory, which has bin or shims */
        struct shim *shim;   /* the result */
};

/* Versions, blanks between them, and the file or variable that names them; both NULL where nothing does. */
struct wanted {
        char *versions;
        char *source;
};
void shim_choice_free_wanted(struct wanted *wanted);

/* A file that may name versions. A list of them ends with a NULL name. */
struct version_file {
        const char *name; /* relative to a directory */
        versions_reader *read;
};

/* Asks the variable `name` of the caller. */
void shim_choice_ask_variable(const char *name, struct wanted *wanted);

/* Asks one file, which may be missing. 125 when it names a version and the command may have written it. */
bool shim_choice_ask_file(const struct shim_choice *choice, const char *file, versions_reader *read,
                          const char *tool, struct wanted *wanted);

/* Asks the nearest of `files` in the working directory and above it. */
bool shim_choice_ask_upward(const struct shim_choice *choice, const struct version_file *files,
                            const char *tool, struct wanted *wanted);

/* The same with the files that other tools have for `tool` (.nvmrc, .python-version), where the user has
 * switched them on (`shared`). In each directory the manager's own files come first. */
bool shim_choice_ask_upward_shared(const struct shim_choice *choice, const struct version_file *files,
                                   bool shared, const char *tool, struct wanted *wanted);

/* Makes the shim's program ROOT/VERSIONS_DIRECTORY/V/bin/NAME for the first wanted version V that has it;
 * "system" means the next program of that name on PATH. */
bool shim_choice_take_version(const struct shim_choice *choice, const char *versions_directory,
                              const struct wanted *wanted);

/* Fails because no source names a version. */
bool shim_choice_no_version(const struct shim_choice *choice);

/* ASDF_NODEJS_VERSION, MISE_NODE_VERSION. The caller frees. */
char *shim_choice_variable_name(const char *prefix, const char *tool);

/* True for an executable file. */
bool shim_choice_is_program(const char *path);

#endif
