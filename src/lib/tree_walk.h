/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking through a granted directory, shallow before deep, with a bound on the work: a server may have
 * filled it with whatever it likes. No link is followed, no other mount is entered, and nothing but
 * directories is opened.
 */
#ifndef HUTCH_LIB_TREE_WALK_H
#define HUTCH_LIB_TREE_WALK_H

#include <stdbool.h>
#include <stddef.h>

struct tree_directory;

struct tree {
        int root;           /* the directory where it begins, O_PATH or better; the caller's */
        unsigned max_depth; /* of directories that are looked into; the root is 0 */
        size_t max_directories;
        size_t max_entries; /* of all directories together */
        void *context;

        /* An opened directory at `relative` ("" for the root). False: do not look at what it holds. May be
         * NULL.
         */
        bool (*enter)(struct tree *tree, int directory, const char *relative);
        /* One entry in it. False: if it is a directory, do not look into it. */
        bool (*entry)(struct tree *tree, int directory, const char *relative, const char *name);

        bool is_cut; /* out: max_directories or max_entries ended it */

        struct tree_directory *queue;
        size_t queue_count, queue_next;
        size_t entries;
};

/* A directory to be looked into as if it were as deep as the root is. For `enter`. */
void tree_add(struct tree *tree, const char *relative);

void tree_walk(struct tree *tree);

#endif
