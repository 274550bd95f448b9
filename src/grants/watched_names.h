/* SPDX-License-Identifier: Apache-2.0
 *
 * Names in writable grants that no mount can hold: nothing exists there yet, or a symbolic link does, on
 * which nothing can be mounted. hutch compares them during and after the run and reports each one that the
 * command created or changed. The supervisor does this under its system call filter, in directories that the
 * sandbox controls: this module opens nothing after the start and never follows a link.
 */
#ifndef HUTCH_GRANTS_WATCHED_NAMES_H
#define HUTCH_GRANTS_WATCHED_NAMES_H

#include "grants/resolver.h"

#include <sys/stat.h>

/* What exists at a name. */
struct found_name {
        size_t length;      /* of the part of the name that exists, which a link or a file ends; 0: nothing */
        struct stat status; /* of that part */
};

/* The directory of a writable grant. */
struct watched_directory {
        int directory; /* O_PATH */
        char *path;    /* real */
        struct watched_name *names;
        size_t count;
};

/* Adds the directory of `grant`, which becomes the last of held->watched. Status 125 when no descriptor is
 * free. */
bool watched_names_open(const struct resolver *resolver, const struct mount *grant);

/* Looks at `name`, a path relative to `directory`, component by component, so that it follows no link. */
struct found_name watched_names_look(int directory, const char *name);

/* Watches `name` from now on; a second call for the same name changes nothing. */
void watched_names_add(struct watched_directory *watched, const char *name, const struct found_name *before);

/* Reports the names that were created or changed since, each once however often this is called. */
void watched_names_report(struct held_sources *held);

/* Adds the paths of the directories in which a watched name would appear; some may not exist. */
void watched_names_list_directories(const struct held_sources *held, struct str_list *directories);

/* True when a new entry called `name` in one of these directories can be part of a watched name. */
bool watched_names_may_concern(const struct held_sources *held, const char *name);

void watched_names_release(struct held_sources *held);

#endif
