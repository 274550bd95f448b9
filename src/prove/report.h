/* SPDX-License-Identifier: Apache-2.0
 *
 * The results of the escape attempts: the rows that hutch-prove wrote, the state of each, and the table or
 * JSON for the user. hutch-prove inside is the attacker, so a row that is missing or cannot be read never
 * counts as held.
 */
#ifndef HUTCH_PROVE_REPORT_H
#define HUTCH_PROVE_REPORT_H

#include "box/box.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum prove_state {
        PROVE_HELD,
        PROVE_GOT_OUT,
        PROVE_OPEN_BY_OPTION, /* an option of the user's permits it */
        PROVE_NOT_LIMITED,    /* this machine, or these options, have no limit for it */
        PROVE_NOT_SHOWN,      /* it did not get out, but did not work outside either */
        PROVE_FAILED,         /* no result, a crash or a hang: not known to be held */
        PROVE_STATES,
};

struct prove_row {
        char *id, *group, *gain;
        char *shown;  /* "as-caller", "as-root", "in-namespaces", "no" */
        char *result; /* the word of the program inside, or NULL: none */
        char *path;   /* the path by which it got out, or "" */
        bool spoiled; /* decoys_spoiled() saw a change from outside */
        enum prove_state state;
        char *option; /* PROVE_OPEN_BY_OPTION, PROVE_GOT_OUT: the option that opened it, or NULL;
                         PROVE_NOT_LIMITED: what would limit it */
};

struct prove_results {
        struct prove_row *rows;
        size_t count;
        size_t totals[PROVE_STATES];
};

/* Reads one line of hutch-prove. 1 for a row, 0 for another object of it, -1 for any other line and for the
 * result of an attempt that was not shown before. */
int prove_results_read(struct prove_results *results, const char *line);

/* Sets the state of every row. `box` is the sandbox that was attacked, `own` the directory of the decoys' two
 * grants, `no_protect` the option --no-protect. */
void prove_results_judge(struct prove_results *results, const struct box *box, const char *own,
                         bool no_protect);

/* True when there are results, none got out and none failed. */
bool prove_results_good(const struct prove_results *results);

/* Write the results for people (`all`: every row) or for programs. False when writing to `out` failed. */
bool prove_write_table(const struct prove_results *results, bool all, FILE *out);
bool prove_write_json(const struct prove_results *results, FILE *out);

void prove_results_free(struct prove_results *results);

#endif
