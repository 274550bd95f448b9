/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading one directory, and a walk of a granted one, shallow before deep, with bounds on the work, since a
 * server may have filled the directory with anything. The walk follows no link and opens nothing but
 * directories.
 */
#ifndef HUTCH_LIB_TREE_WALK_H
#define HUTCH_LIB_TREE_WALK_H

#include "lib/str.h"

#include <dirent.h>
#include <sys/types.h>

/* Opens the directory `name` of `parent` for reading, also by a link. The caller closes the stream; NULL with
 * errno. */
DIR *tree_open(int parent, const char *name);

/* The next entry, never "." or ".."; NULL at the end. */
const struct dirent *tree_next(DIR *stream);

/* The type of an entry (S_IFDIR …); 0 when it was deleted meanwhile. */
mode_t tree_entry_type(DIR *stream, const struct dirent *entry);

/* Adds the names in the directory that `wanted` accepts (NULL: all), sorted, `most` at most. False with errno
 * when the directory cannot be opened. */
bool tree_list(int directory, bool (*wanted)(const char *name), size_t most, struct str_list *names);

struct tree_directory;

struct tree_walk {
        int root;           /* where the walk begins, O_PATH or better; the caller closes it */
        unsigned max_depth; /* of the directories that it reads; the root is 0 */
        size_t max_directories;
        size_t max_entries; /* in all directories together */
        bool other_mounts;  /* enter them too */
        void *context;

        /* Called for each directory, opened, at `relative` ("" for the root). False: do not read it. May be
         * NULL. */
        bool (*enter)(struct tree_walk *tree, int directory, const char *relative);
        /* Called for each entry of a directory. False: if the entry is a directory, do not read it. */
        bool (*entry)(struct tree_walk *tree, int directory, const char *relative, const char *name);
        /* Called, with errno, for each directory that cannot be opened. May be NULL: the walk skips it. */
        void (*unopened)(struct tree_walk *tree, const char *relative);

        bool is_ended; /* a callback sets it to end the walk */
        bool is_cut;   /* result: max_directories or max_entries left something out */

        /* The walk's own. */
        struct tree_directory *queue;
        size_t queue_count, queue_next;
        size_t entries;
};

/* Adds a directory as if it were as deep as the root. For `enter`. */
void tree_walk_add(struct tree_walk *tree, const char *relative);

void tree_walk(struct tree_walk *tree);

#endif
