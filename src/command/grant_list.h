/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of read-only grants that a command needs. It only collects them; resolve/ adds them to the box.
 */
#ifndef HUTCH_COMMAND_GRANT_LIST_H
#define HUTCH_COMMAND_GRANT_LIST_H

#include "lib/path_walk.h"

#include <stddef.h>

struct program_grant {
        char *path; /* absolute, normal, as spelled: both the source (its links are followed) and the
                       destination */
        char *link; /* not NULL: `path` is a symbolic link that is granted alone, as a link with this text */
        char *why;  /* "the command", "interpreter of …", "program of the command"… */
};

/* Zero it to begin. */
struct grant_list {
        struct program_grant *values;
        size_t count;
};

/* Adds the directory or file at `path`. Copies both texts. */
void grant_list_add(struct grant_list *list, const char *path, const char *why);

/* Adds the link at `path` with its text. Copies all three. */
void grant_list_add_link(struct grant_list *list, const char *path, const char *text, const char *why);

/* Drops every grant that another one holds already, and of two equal ones the later. */
void grant_list_drop_covered(struct grant_list *list, struct walker *walker);

void grant_list_free(struct grant_list *list);

#endif
