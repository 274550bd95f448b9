/* SPDX-License-Identifier: Apache-2.0
 *
 * A walk of a granted directory, shallow before deep, with bounds on the work, since a server may have filled
 * the directory with anything. It follows no link, enters no other mount and opens nothing but directories.
 */
#ifndef HUTCH_LIB_TREE_WALK_H
#define HUTCH_LIB_TREE_WALK_H

#include <stdbool.h>
#include <stddef.h>

struct tree_directory;

struct tree_walk {
        int root;           /* where the walk begins, O_PATH or better; the caller closes it */
        unsigned max_depth; /* of the directories that it reads; the root is 0 */
        size_t max_directories;
        size_t max_entries; /* in all directories together */
        void *context;

        /* Called for each directory, opened, at `relative` ("" for the root). False: do not read it. May be
         * NULL. */
        bool (*enter)(struct tree_walk *tree, int directory, const char *relative);
        /* Called for each entry of a directory. False: if the entry is a directory, do not read it. */
        bool (*entry)(struct tree_walk *tree, int directory, const char *relative, const char *name);

        bool is_cut; /* result: max_directories or max_entries left something out */

        /* The walk's own. */
        struct tree_directory *queue;
        size_t queue_count, queue_next;
        size_t entries;
};

/* Adds a directory as if it were as deep as the root. For `enter`. */
void tree_walk_add(struct tree_walk *tree, const char *relative);

void tree_walk(struct tree_walk *tree);

#endif
