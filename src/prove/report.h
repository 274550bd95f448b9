/* SPDX-License-Identifier: Apache-2.0
 *
 * What came of the escape attempts: the rows that the programs wrote, the verdict of each, and the table or
 * JSON that is made of them. A row that is missing, or that is not understood, is never a good one.
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
        PROVE_OPEN_BY_OPTION, /* the person's own option permits it */
        PROVE_NOT_LIMITED,    /* nothing bounds it, here or with these options */
        PROVE_NOT_SHOWN,      /* it did not get out, but nothing on this machine shows that it could */
        PROVE_FAILED,         /* no result, a crash, a hang: not known to be held */
        PROVE_STATES,
};

struct prove_row {
        char *id, *group, *gain;
        char *shown;  /* "as-caller", "as-root", "in-namespaces", "no" */
        char *result; /* what the program inside said, or NULL: nothing */
        char *path;   /* by which it got out, or "" */
        bool spoiled; /* seen from outside, it did something */
        enum prove_state state;
        char *option; /* PROVE_OPEN_BY_OPTION, PROVE_GOT_OUT: the option that opened it, or NULL;
                         PROVE_NOT_LIMITED: what would bound it */
};

struct prove_results {
        struct prove_row *rows;
        size_t count;
        size_t totals[PROVE_STATES];
};

/* Reads one line of hutch-prove. 1 when it was a row, 0 when it was another object of it, -1 when it is none
 * of its lines, or speaks of an attempt that was not shown before. */
int prove_results_read(struct prove_results *results, const char *line);

/* Judges every row. `box` is the sandbox that was attacked, `own` the directory of the decoys' two grants. */
void prove_results_judge(struct prove_results *results, const struct box *box, const char *own,
                         bool no_protect);

/* True when the result is one to be content with. */
bool prove_results_good(const struct prove_results *results);

/* False when `out` could not take it. */
bool prove_write_table(const struct prove_results *results, bool all, FILE *out);
bool prove_write_json(const struct prove_results *results, FILE *out);

void prove_results_free(struct prove_results *results);

#endif
