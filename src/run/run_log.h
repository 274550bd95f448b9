/* SPDX-License-Identifier: Apache-2.0
 *
 * The record of one run: the server's name, the first word of its command, the grants, hutch's own lines, and
 * how it ended. `hutch logs` reads it, and --log gets a copy with more events. It must never contain an
 * argument or a variable, which may be secrets, or a byte that the server wrote. A record that cannot be
 * written never fails a run.
 */
#ifndef HUTCH_RUN_RUN_LOG_H
#define HUTCH_RUN_RUN_LOG_H

#include "box/box.h"
#include "ns/failure.h"
#include "run/ending.h"

enum { RUN_LOG_LINES_MAX = 32 };

struct run_log {
        struct str_list command; /* the words after --, which belong to main() */
        const char *directory;   /* options.directory, which belongs to main() */
        const char *cwd;         /* --cwd as written, or NULL; the same */
        int store_file;          /* in the store (run_store.h); -1: not made */
        int file;                /* of --log; -1: not wanted, or failed */
        uint32_t id;             /* of the sandbox, in both files */
        bool begun;              /* run_log_begin() was called */
        bool is_started;         /* the sandbox is being entered: its writable grants are kept */
        long long begun_ms;      /* monotonic */
        enum ending ending;      /* the supervisor sets this and signal_number */
        int signal_number;
        struct failure failure; /* the step of the start that failed; stage STAGE_COUNT: none */
        bool for_log_alone;     /* keep nothing in the store: the program behind --status-fd keeps the run */
        struct str_list early;  /* lines from before the file was made */
        unsigned lines, left_out;
};

/* Begins to collect hutch's own lines. `words` (NULL-terminated) are those after the subcommand. */
void run_log_prepare(struct run_log *log, int count, char **words);

/* The server's name as `hutch logs` shows it (command/server_name.h). The caller frees. */
char *run_log_server_name(const struct run_log *log);

/* Opens the file of --log, if the box has one. Call before anything runs. False with *error set, status 125.
 */
bool run_log_open_file(struct run_log *log, const struct box *box, struct error *error);

/* Writes a record that hutch-nat or hutch-filter has made to the file of --log. */
void run_log_add_members(struct run_log *log, const char *members);

/* An enforcement_limit: writes to the file of --log that a limit was reached. */
void run_log_add_limit(void *run_log, const char *limit, const char *value, const char *mechanism);

/* Makes the file in the store and writes what is started. `box` may be unfinished when the run has failed.
 * Call once, before the supervisor loads its filter, because it opens files. */
void run_log_begin(struct run_log *log, const struct box *box);

/* Writes how the run ended, closes and frees. `status` is the exit status of hutch. */
void run_log_end(struct run_log *log, int status);

#endif
