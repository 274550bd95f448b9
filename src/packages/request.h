/* SPDX-License-Identifier: Apache-2.0
 *
 * What a command asks a registry for, and the name of the store's entry that holds it. Words in, text out:
 * nothing is looked at. A request that a registry does not answer alone (a directory, an archive, a
 * repository, an index of its own) is none.
 */
#ifndef HUTCH_PACKAGES_REQUEST_H
#define HUTCH_PACKAGES_REQUEST_H

#include "lib/str.h"

#include <stdbool.h>

enum fetch_tool {
        FETCH_NONE,
        FETCH_NPM,        /* npx, npm exec */
        FETCH_UV,         /* uvx, uv tool run */
        FETCH_UV_PROJECT, /* uv run: fetch/project.h */
};

struct fetch_request {
        enum fetch_tool tool;
        struct str_list packages; /* as written, with their versions; uv: the tool's first */
        bool consents;            /* the words themselves agree to a download */
};

/* Reads a command's words; tool FETCH_NONE where they ask for nothing that can be fetched. */
void fetch_request_read(const struct str_list *command, struct fetch_request *request);
void fetch_request_free(struct fetch_request *request);

/* The entry's name, "npm:@scope/name@1.0": two requests have the same only if they are the same. The caller
 * frees. */
char *fetch_request_name(const struct fetch_request *request);

/* That name as a file name of its own: no slash, no dot in front. NULL when it would be too long, or is no
 * name that fetch_request_name() makes. The caller frees. */
char *fetch_name_encode(const char *name);

/* The way back; NULL for what fetch_name_encode() never makes. The caller frees. */
char *fetch_name_decode(const char *file);

/* A package's name in a request: "@scope/name" of "@scope/name@1.0", "name" of "name[extra]==1". The caller
 * frees. */
char *fetch_package_name(enum fetch_tool tool, const char *package);

/* The command line that fetches what `command` asks for, as a shell reads it. The caller frees. */
char *fetch_line(const struct str_list *command);

#endif
