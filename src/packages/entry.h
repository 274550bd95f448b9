/* SPDX-License-Identifier: Apache-2.0
 *
 * entry.json: the record that hutch writes about an entry, outside the sandbox, when it fetches it. hutch
 * takes every fact about an entry from here and none from the cache beside it, which hostile programs wrote.
 */
#ifndef HUTCH_PACKAGES_ENTRY_H
#define HUTCH_PACKAGES_ENTRY_H

#include "lib/err.h"
#include "lib/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct entry_package {
        char *name; /* any text */
        char *version;
        char *integrity; /* as the registry states it, "sha512-…"; or "" */
};

struct entry {
        char *name;                  /* fetch_request_name() */
        int64_t fetched;             /* seconds since 1970 */
        struct str_list command;     /* for which it was fetched */
        struct str_list environment; /* KEY=VALUE that a server needs to find what was fetched */
        struct str_list registries;  /* HOST:PORT */
        char *digest;                /* of the whole cache */
        char *directory;             /* the cache's directory with the programs; "" where it is not known */
        char *program;               /* the one that npm chooses; "" where it chooses none */
        struct entry_package *packages;
        size_t package_count;
};

/* Appends copies. */
void entry_add_package(struct entry *entry, const char *name, const char *version, const char *integrity);

/* Writes entry.json into the entry's directory, where it must not exist yet. */
bool entry_write(int directory, const struct entry *entry, struct error *error);

/* Reads entry.json; `shown` is the entry's name for messages. The caller frees the entry in both cases. */
bool entry_read(int directory, const char *shown, struct entry *entry, struct error *error);
void entry_free(struct entry *entry);

#endif
