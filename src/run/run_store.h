/* SPDX-License-Identifier: Apache-2.0
 *
 * The directory $XDG_STATE_HOME/hutch/runs (default ~/.local/state): a directory for each server, in it a
 * file for each of its last runs. hutch holds a lock on the file for as long as the sandbox runs, so a file
 * whose lock is free belongs to a run that is over, however it ended. Only directories (0700) and files
 * (0600) of the caller count, no link is followed below $XDG_STATE_HOME, and nothing is ever written where
 * the sandbox itself could write. Functions return a descriptor or 0, or a negative errno.
 */
#ifndef HUTCH_RUN_RUN_STORE_H
#define HUTCH_RUN_RUN_STORE_H

#include "box/box.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
        RUN_STORE_RUNS_MAX = 20,    /* kept for each server, running ones apart */
        RUN_STORE_SERVERS_MAX = 64, /* kept in all; the one that was used longest ago goes */
        RUN_STORE_FILE_MAX = 32768, /* what is read of a file; run_log.c writes less */
};

/* Opens the directory of all runs. `create`: makes what is missing. -ENOENT without it; -EPERM: what is there
 * is not the caller's alone, or a caller who is root would have to make it in somebody else's directory;
 * -ELOOP or -ENOTDIR: a link or a file is in its place. */
int run_store_open(bool create);

/* True when `box` grants something writable through which the directory `runs` could be reached. */
bool run_store_is_exposed(int runs, const struct box *box);

/* A number for a new run. */
uint32_t run_store_new_id(void);

/* Makes the file of a new run of the server `name` (server_name.h), locked, opened for appending. Removes the
 * oldest of the runs that are over where there are too many, and what a killed hutch left half made. */
int run_store_add_run(int runs, const char *name, uint32_t id);

/* A run, as its file has it. */
struct run_store_run {
        char *name;
        char id[9];       /* 8 hexadecimal digits */
        uint64_t started; /* microseconds since 1970 */
        bool running;     /* the lock is held */
        char *text;       /* the lines; whoever reads them must expect anything */
        size_t text_length;
};

struct run_store_runs {
        struct run_store_run *runs;
        size_t count;
};

/* Reads the runs of the server `name`, or of all for NULL, oldest first. Fails only where run_store_open()
 * does.
 */
int run_store_read(const char *name, struct run_store_runs *list);
void run_store_runs_free(struct run_store_runs *list);

#endif
