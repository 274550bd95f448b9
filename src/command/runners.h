/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that name a program without its path: `uv run`, `uvx`, `npx`, `npm exec`, `python -m`. It finds
 * which installed files and directories they would use, by their documentation; toolchain.c judges whether
 * hutch may grant those. A package that is not installed cannot be downloaded without a network.
 */
#ifndef HUTCH_COMMAND_RUNNERS_H
#define HUTCH_COMMAND_RUNNERS_H

#include "command/command.h"
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

/* Finds what the command uses. */
void runners_find_needs(const struct resolver *resolver, const struct command *command,
                        struct runner_needs *needs);

/* The project whose environment `uv run` would make before it starts anything: the nearest one upward that
 * has no .venv and is not part of a workspace, when no option asks for another environment. NULL for any
 * other command. The caller frees. */
char *runners_find_unsynced(const struct resolver *resolver, const struct command *command);

void runners_free_needs(struct runner_needs *needs);

#endif
