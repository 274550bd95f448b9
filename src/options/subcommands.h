/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of subcommands: which there are, what each takes and what help says about it.
 */
#ifndef HUTCH_OPTIONS_SUBCOMMANDS_H
#define HUTCH_OPTIONS_SUBCOMMANDS_H

#include <stdbool.h>

struct subcommand_row {
        const char *name;
        const char *arguments; /* as usage shows them */
        bool options;          /* rows of option_table apply: those for which option_belongs() */
        bool sandbox;          /* it starts the sandbox of the command after -- */
        const char *help;      /* one line, no final stop */
        const char *detail;    /* the paragraph of its own help, or NULL */
        bool command;          /* a command may follow -- although its sandbox is not started */
};

/* Ends with a row whose name is NULL. */
extern const struct subcommand_row subcommand_table[];

/* The row of `name`, or NULL. */
const struct subcommand_row *subcommand_find(const char *name);

/* The name of the nearest subcommand when `name` is probably a misspelling of it, else NULL. */
const char *subcommand_nearest(const char *name);

#endif
