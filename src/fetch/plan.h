/* SPDX-License-Identifier: Apache-2.0
 *
 * What a fetch needs from the host: the registries in npm's or uv's configuration. Only public settings leave
 * this module: URLs without credentials, the certificate file, the proxy for hutch's connections. Tokens, and
 * the files that hold them, never do.
 */
#ifndef HUTCH_FETCH_PLAN_H
#define HUTCH_FETCH_PLAN_H

#include "lib/err.h"
#include "lib/str.h"
#include "options/options.h"
#include "packages/entry.h"
#include "packages/request.h"

#include <stdbool.h>

struct fetch_plan {
        /* Set before anything else. */
        int cache;                     /* the directory to fill */
        const struct options *options; /* the user's */
        const struct fetch_request *request;
        struct entry *entry; /* what a server needs to use it */

        struct str_list registries;  /* HOST:PORT; each once */
        struct str_list allow;       /* the same as --network-allow takes them */
        struct str_list environment; /* KEY=VALUE: for the fetch, and for servers that use what it fetched */
        char *certificates;          /* certificates that the tool trusts, or NULL */
        bool no_scripts;             /* npm's ignore-scripts */
        /* Settings for one command in the sandbox. */
        struct str_list files; /* absolute: copied into its working directory */
        char *overlay;         /* a directory to show as an overlay, or NULL */
        bool offline;          /* no network at all */
        bool quiet;            /* it may fail */
};

/* Adds a registry by its URL, and returns the URL without credentials, which the caller frees; NULL when it
 * is not an http or https URL. */
char *plan_add_registry(struct fetch_plan *plan, const char *url);

/* Asks the npm beside the command's own npx, or the one on PATH, for its configuration, and adds it to the
 * environment of the plan and of the entry. */
bool plan_read_npm(struct fetch_plan *plan, struct error *error);

/* The same of uv's variables and files; where neither names an index, asks uv for its default. */
bool plan_read_uv(struct fetch_plan *plan, struct error *error);

/* Adds the variable or setting `name` with the time of `days` ago. */
void plan_add_time(struct fetch_plan *plan, const char *name, unsigned days);

void plan_free(struct fetch_plan *plan);

/* The program `tool` beside the command's own file, else on PATH. NULL when there is none. The caller frees.
 */
char *plan_find_tool(const char *tool, const char *command);

/* Runs a program of the user's outside the sandbox, in the home, and returns its output, which the caller
 * frees. NULL with a sentence when it fails, writes more than `limit` bytes, or takes a minute. */
char *plan_ask(const char *const *words, size_t limit, struct error *error);

#endif
