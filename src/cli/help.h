/* SPDX-License-Identifier: Apache-2.0
 *
 * What hutch says about itself, made of the option table and the table of subcommands, so that neither can
 * say what the program does not do. It writes where it is told and never ends the process.
 */
#ifndef HUTCH_CLI_HELP_H
#define HUTCH_CLI_HELP_H

#include <stdbool.h>
#include <stdio.h>

struct subcommand_row {
        const char *name;
        const char *arguments; /* as usage shows them */
        bool options;          /* rows of option_table apply: those for which option_belongs() */
        bool sandbox;          /* it starts the sandbox of a command, which stands behind -- */
        const char *help;      /* one line, no final stop */
        const char *detail;    /* the paragraph of its own help, or NULL */
        bool command;          /* a command may stand behind -- although its sandbox is not started */
};

/* Ends with a row whose name is NULL. */
extern const struct subcommand_row subcommand_table[];

/* The row of `name`, or NULL. */
const struct subcommand_row *subcommand_find(const char *name);

/* The nearest subcommand's name when `name` was probably meant to be one, else NULL. */
const char *subcommand_nearest(const char *name);

/* `hutch --help` (row NULL) or the help of one subcommand. False when `out` could not take it. */
bool help_write(const struct subcommand_row *row, FILE *out);

/* The one usage line that follows an error, without `usage:` and without a newline; row NULL: hutch itself.
 * The caller frees. */
char *help_usage(const struct subcommand_row *row);

#endif
