/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of a command, read once: which tool it starts, what that tool would download, and which word
 * names the program. Everything else in hutch asks this structure, and no other module knows an option of
 * npx, uv or an interpreter. It only looks at words. They may be anything, so no part of them must become a
 * path unchecked.
 */
#ifndef HUTCH_COMMAND_COMMAND_H
#define HUTCH_COMMAND_COMMAND_H

#include "lib/str.h"

#include <stdbool.h>
#include <stddef.h>

enum command_tool {
        COMMAND_OTHER,    /* an interpreter, or any program */
        COMMAND_NPX,      /* npx, npm exec */
        COMMAND_UVX,      /* uvx, uv tool run */
        COMMAND_UV_RUN,   /* uv run */
        COMMAND_BUNX,     /* bunx, pnpm dlx and the like; hutch cannot fetch for it */
        COMMAND_PIPX_RUN, /* pipx run; the same */
};

struct command {
        struct str_list words;
        enum command_tool tool;
        /* What the tool would download, as written, with versions. uv's first one brings the program. */
        struct str_list packages;
        size_t program;     /* the word that names the program, or an interpreter's script; 0: no word does */
        bool names_package; /* that word is the package itself, and npm chooses the program in it */
        bool consents;      /* the words agree to a download: `npx -y`, and uv always */
        bool elsewhere;     /* an option chooses another registry, configuration, cache or project */
        /* hutch knows what every option does. npx and uvx: it can start the program in their place. uv run:
         * the environment is the project's own. */
        bool plain;
        bool is_module;                           /* uv run -m: the program is a module */
        const char *directory, *project, *python; /* uv's options; NULL without them */
        const char
            *module; /* of `python -m`, unless options keep Python from the working directory; or NULL */
};

/* Reads a copy of the words, of which there is at least one. */
void command_read(const struct str_list *words, struct command *command);
void command_free(struct command *command);

/* True for a name of npm that is safe as one or two components of a path. */
bool command_is_npm_name(const char *name);

/* The name of a package without its version, "@scope/name" of "@scope/name@1.0" or, for uv and pipx, "name"
 * of "name[extra]==1". The caller frees. */
char *command_package_name(enum command_tool tool, const char *package);

#endif
