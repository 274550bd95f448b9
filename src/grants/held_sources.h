/* SPDX-License-Identifier: Apache-2.0
 *
 * What the making of a box keeps open, and remembers of the paths that led to its grants, until the sandbox
 * has compared its mounts with it.
 */
#ifndef HUTCH_GRANTS_HELD_SOURCES_H
#define HUTCH_GRANTS_HELD_SOURCES_H

#include "lib/path_walk.h"

/* Zero it to begin. */
struct held_sources {
        struct walker walker;   /* holds a descriptor of every source, with everything else */
        struct str_list unsafe; /* real paths that --unsafe-grant named */
        struct str_list links;  /* every link that the path of a grant led through */
        struct str_list past;   /* past_grants.h */
        bool past_is_read;
        struct str_list reached;           /* the real path at the end of each of these paths, same order */
        struct watched_directory *watched; /* watched_names.h; lives until the end of the run */
        size_t watched_count;
};

/* Frees everything but the watched directories. */
void held_sources_release(struct held_sources *held);

#endif
