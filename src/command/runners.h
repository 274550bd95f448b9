/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that name a program without its path: `uv run`, `uvx`, `npx`, `npm exec`, `python -m`. It says
 * which installed files and directories they would use, by their documentation; toolchain.c judges whether
 * hutch may grant those. A package that is not installed cannot be downloaded without a network.
 */
#ifndef HUTCH_COMMAND_RUNNERS_H
#define HUTCH_COMMAND_RUNNERS_H

#include "command/directories.h"
#include "lib/str.h"

#include <stdbool.h>

/* What such a command uses. All paths are absolute, normal, as spelled, and exist. Zero it to begin. */
struct runner_needs {
        struct str_list programs;    /* files that are started, with their interpreters */
        struct str_list directories; /* projects */
        struct str_list environment; /* KEY=VALUE */
        struct str_list notes;       /* sentences for the user */
        bool fetches;                /* the command would download what it starts */
        bool missing;                /* the package that npx or uvx is asked for is not installed */
};

/* Finds what the command of the box uses. */
void runners_find_needs(const struct resolver *resolver, struct runner_needs *needs);

/* The package that `npx`, `npm exec`, `bunx`, `uvx` or `uv tool run` is asked for, without its version; NULL
 * for any other command. It may be any text, so it must not become part of a path unchecked. The caller
 * frees. */
char *runners_find_package(const struct str_list *command);

/* What `npx`, `npm exec`, `uvx` or `uv tool run` is asked for. */
struct runner_request {
        bool uv;
        struct str_list packages; /* as written, with their versions; for uv also "--python=VERSION" */
        bool consents;            /* the words agree to a download: `npx -y`, and uvx always */
};

/* Reads the request. False for any other command, and where an option chooses another registry, configuration
 * or cache. The caller frees the packages in every case. */
bool runners_read_request(const struct str_list *command, struct runner_request *request);

/* The directory of `uv run --directory` or `--project`, else the word that names the program of `uv run`;
 * NULL for any other command. The result is a part of `command`. */
const char *runners_find_project(const struct str_list *command);

/* The project whose environment `uv run` would make before it starts anything: the nearest one upward that
 * has no .venv and is not part of a workspace, when no option asks for another environment. NULL for any
 * other command. The caller frees. */
char *runners_find_unsynced(const struct resolver *resolver);

void runners_free_needs(struct runner_needs *needs);

#endif
