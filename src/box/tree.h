/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking through a granted folder, shallow before deep, with a bound on the work: a server may have filled
 * it with whatever it likes. No link is followed, no other mount is entered, and nothing but folders is
 * opened.
 */
#ifndef HUTCH_BOX_TREE_H
#define HUTCH_BOX_TREE_H

#include <stdbool.h>
#include <stddef.h>

struct tree_folder;

struct tree {
        int root;           /* the folder where it begins, O_PATH or better; the caller's */
        unsigned max_depth; /* of folders that are looked into; the root is 0 */
        size_t max_folders;
        size_t max_entries; /* of all folders together */
        void *context;

        /* An opened folder at `relative` ("" for the root). False: do not look at what it holds. May be NULL.
         */
        bool (*enter)(struct tree *tree, int folder, const char *relative);
        /* One entry in it. False: if it is a folder, do not look into it. */
        bool (*entry)(struct tree *tree, int folder, const char *relative, const char *name);

        bool is_cut; /* out: max_folders or max_entries ended it */

        struct tree_folder *queue;
        size_t queue_count, queue_next;
        size_t entries;
};

/* A folder to be looked into as if it were as deep as the root is. For `enter`. */
void tree_add(struct tree *tree, const char *relative);

void tree_walk(struct tree *tree);

#endif
