/* SPDX-License-Identifier: Apache-2.0
 *
 * What a fetch needs of the host: where the registries are, by npm's or uv's own configuration. Only public
 * settings leave here: URLs without credentials, the file of certificates, the proxy for hutch's own
 * connections. Tokens and the files they stand in never do.
 */
#ifndef HUTCH_FETCH_PLAN_H
#define HUTCH_FETCH_PLAN_H

#include "lib/err.h"
#include "lib/str.h"
#include "packages/request.h"

#include <stdbool.h>

struct fetch_plan {
        struct str_list registries;  /* HOST:PORT; each once */
        struct str_list allow;       /* the same as --network-allow takes them */
        struct str_list environment; /* KEY=VALUE: for the fetch, and for servers that use what it fetched */
        char *certificates;          /* a file that the tool is to trust, or NULL */
        bool no_scripts;             /* npm's ignore-scripts */
        /* For one command in the sandbox, and nothing by default. */
        struct str_list files; /* absolute: copied into its working directory */
        char *overlay;         /* a directory that is shown, and whose changes vanish; or NULL */
        bool offline;          /* no network at all */
        bool quiet;            /* it may fail */
};

/* Adds a registry by its URL, and returns the URL without credentials, which the caller frees; NULL when it
 * is no URL of http or https. */
char *plan_add_registry(struct fetch_plan *plan, const char *url);

/* Asks the npm beside `command`'s own npx, or the one on PATH, for its configuration. `min_age_days` 0: any
 * version. */
bool plan_read_npm(struct fetch_plan *plan, const struct str_list *command, unsigned min_age_days,
                   struct error *error);

/* Reads uv's variables and files; where neither names an index, what uv itself says of its default. */
bool plan_read_uv(struct fetch_plan *plan, const struct str_list *command, unsigned min_age_days,
                  struct error *error);

void plan_free(struct fetch_plan *plan);

/* Runs a program of the person's own, outside, as the person would, in the home, and reads what it says. The
 * caller frees; NULL with a sentence when it fails, or says more than `limit` bytes, or takes a minute. */
char *plan_ask(const char *const *words, size_t limit, struct error *error);

#endif
