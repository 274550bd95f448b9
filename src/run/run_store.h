/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of recent runs, in $XDG_STATE_HOME/hutch/runs (default ~/.local/state): one directory per
 * server, and in it one file per run. hutch locks the file while the sandbox runs. A file whose lock is free
 * belongs to a run that is over, however it ended. Only directories (0700) and files (0600) of the caller are
 * used, no link below $XDG_STATE_HOME is followed, and nothing is written where the sandbox could write.
 * Functions return a descriptor or 0, or a negative errno.
 */
#ifndef HUTCH_RUN_RUN_STORE_H
#define HUTCH_RUN_RUN_STORE_H

#include "box/box.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
        RUN_STORE_RUNS_MAX = 20,    /* kept per server, besides running ones */
        RUN_STORE_SERVERS_MAX = 64, /* kept in all; the one that was not used for longest goes */
        RUN_STORE_FILE_MAX = 32768, /* the most that is read of a file; run_log.c writes less */
};

/* Opens the directory of all runs; `create` makes what is missing. -ENOENT: it is missing. -EPERM: others can
 * enter it, or root would have to make it in the directory of another user. -ELOOP or -ENOTDIR: a link or a
 * file has its name. */
int run_store_open(bool create);

/* True when the box has a writable grant from which the directory `runs` can be reached. */
bool run_store_is_exposed(int runs, const struct box *box);

/* A random number for a new run. */
uint32_t run_store_new_id(void);

/* Makes the file of a new run of the server `name` (server_name.h), locked and open for appending. Removes
 * the oldest finished runs beyond the limits, and what a killed hutch left. */
int run_store_add_run(int runs, const char *name, uint32_t id);

/* One run, as its file describes it. */
struct run_store_run {
        char *name;
        char id[9];       /* 8 hexadecimal digits */
        uint64_t started; /* microseconds since 1970 */
        bool running;     /* the lock is held */
        char *text;       /* the content of the file, which may be anything */
        size_t text_length;
};

struct run_store_runs {
        struct run_store_run *runs;
        size_t count;
};

/* Reads the runs of the server `name`, or of every server for NULL, oldest first. Fails only as
 * run_store_open() does. */
int run_store_read(const char *name, struct run_store_runs *list);
void run_store_runs_free(struct run_store_runs *list);

#endif
