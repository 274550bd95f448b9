/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands whose words name a program without its path: `uv run`, `uvx`, `npx`, `npm exec`, `python -m`. It
 * says which files and directories they would use of what is installed, as these tools document it; whether
 * those may be granted is toolchain.c's to judge. What is not installed cannot be fetched without a network.
 */
#ifndef HUTCH_COMMAND_RUNNERS_H
#define HUTCH_COMMAND_RUNNERS_H

#include "command/directories.h"
#include "lib/str.h"

#include <stdbool.h>

/* All paths are absolute, normal, as spelled, and exist. Zero it to begin. */
struct runner_needs {
        struct str_list programs;    /* files that are started: they are needed with their interpreters */
        struct str_list directories; /* projects */
        struct str_list environment; /* KEY=VALUE */
        struct str_list notes;       /* sentences for the person */
        bool fetches;                /* the command would download what it starts */
        bool missing;                /* what npx or uvx are asked for is not installed */
};

/* What the words ask for. `work` is where their relative paths begin, `home` the caller's. */
void runners_find_needs(const struct str_list *command, const struct directories *directories,
                        const char *work, const char *home, struct runner_needs *needs);

/* The package that `npx`, `npm exec`, `bunx`, `uvx` and `uv tool run` are asked for, without its version;
 * NULL for any other command. Whatever somebody wrote: no name to open a file by. The caller frees. */
char *runners_find_package(const struct str_list *command);

/* What `npx`, `npm exec`, `uvx` and `uv tool run` are asked for. */
struct runner_request {
        bool uv;
        struct str_list packages; /* as written, with their versions; for uv also "--python=VERSION" */
        bool consents;            /* the words agree to a download: `npx -y`, and uvx always */
};

/* Reads it; false for any other command, and where the words choose a registry, a configuration or a cache of
 * their own. The caller frees the packages. */
bool runners_read_request(const struct str_list *command, struct runner_request *request);

/* The directory of `uv run --directory` or `--project`, else the word that names what it runs; NULL for any
 * other command. It belongs to `command`. */
const char *runners_find_project(const struct str_list *command);

/* The project whose environment `uv run` would make before it starts anything: the nearest one upward, where
 * it has no .venv, is no part of a workspace, and no option asks for another environment. NULL for any other
 * command. The caller frees. */
char *runners_find_unsynced(const struct str_list *command, const struct directories *directories,
                            const char *work);

void runners_free_needs(struct runner_needs *needs);

#endif
