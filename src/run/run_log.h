/* SPDX-License-Identifier: Apache-2.0
 *
 * What is kept of one run: the server's name, its command's first word, the grants, hutch's own lines, how it
 * ended. Never an argument or a variable, which may hold secrets, and never a byte that the server wrote. Not
 * being able to keep it never fails a run.
 */
#ifndef HUTCH_RUN_RUN_LOG_H
#define HUTCH_RUN_RUN_LOG_H

#include "box/box.h"
#include "run/ending.h"

enum { RUN_LOG_LINES_MAX = 32 };

struct run_log {
        struct str_list command; /* the words after --, which are main()'s */
        const char *cwd;         /* --cwd as written, or NULL; its owner's */
        int store_file;          /* -1: nothing is kept (yet) */
        int file;                /* --log; -1: not wanted, or lost */
        uint32_t id;             /* of the sandbox, in both */
        bool begun;              /* it was tried */
        long long begun_ms;      /* monotonic */
        enum ending ending;      /* whoever learns it sets this, and the signal where there is one */
        int signal_number;
        bool for_log_alone;    /* a run that is none of a server's: nothing is kept of it but by --log */
        struct str_list early; /* lines from before there was a file */
        unsigned lines, left_out;
};

/* From here on hutch's own lines are taken down. `words` (NULL-terminated) are what follows the subcommand.
 */
void run_log_prepare(struct run_log *log, int count, char **words);

/* The same for a run of which nothing is kept but what --log asks for. */
void run_log_prepare_for_log(struct run_log *log, const struct str_list *command);

/* The server's name (command/server_name.h), as `hutch logs` has it. The caller frees. */
char *run_log_server_name(const struct run_log *log);

/* Opens the file of --log, if there is one: before anything runs. False with a sentence, 125. */
bool run_log_open_file(struct run_log *log, const struct box *box, struct error *error);

/* A record that hutch-nat or hutch-filter has made, for --log alone. */
void run_log_add_members(struct run_log *log, const char *members);

/* That a limit was reached, for --log alone: its option, its value as that has it, and what holds it. */
void run_log_add_limit(struct run_log *log, const char *limit, const char *value, const char *mechanism);

/* Makes the file of this run and says what it is; `box` may be unfinished when the run has failed. Once only,
 * and before the supervisor's filter, because it opens files. */
void run_log_begin(struct run_log *log, const struct box *box);

/* Writes how it ended, closes, frees. `status` is hutch's exit status. */
void run_log_end(struct run_log *log, int status);

#endif
