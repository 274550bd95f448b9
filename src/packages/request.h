/* SPDX-License-Identifier: Apache-2.0
 *
 * What a command asks a package registry for, and the name of the store's entry for it. Words in, text out:
 * it looks at no file. A request that needs more than a registry (a directory, an archive, a repository,
 * another index) counts as none.
 */
#ifndef HUTCH_PACKAGES_REQUEST_H
#define HUTCH_PACKAGES_REQUEST_H

#include "command/command.h"
#include "lib/str.h"

#include <stdbool.h>

enum fetch_tool {
        FETCH_NONE,
        FETCH_NPM,        /* npx, npm exec */
        FETCH_UV,         /* uvx, uv tool run */
        FETCH_UV_PROJECT, /* uv run: packages/project.h */
};

struct fetch_request {
        enum fetch_tool tool;
        struct str_list packages; /* as written, with their versions; for uv the tool's package comes first */
        bool consents;            /* the command itself agrees to a download (`npx -y`, and uvx always) */
};

/* The tool is FETCH_NONE where the command asks for nothing that hutch can fetch. */
void fetch_request_read(const struct command *command, struct fetch_request *request);
void fetch_request_free(struct fetch_request *request);

/* The entry's name, "npm:@scope/name@1.0". Two different requests never have the same name. The caller frees.
 */
char *fetch_request_name(const struct fetch_request *request);

/* That name as a file name, without a slash and not beginning with a dot. NULL when it would be too long, and
 * for a name that fetch_request_name() does not make. The caller frees. */
char *fetch_name_encode(const char *name);

/* The name from its file name; NULL for a file name that fetch_name_encode() never makes. The caller frees.
 */
char *fetch_name_decode(const char *file);

/* The command line that fetches the packages of `command`, quoted for a shell. The caller frees. */
char *fetch_line(const struct str_list *command);

#endif
