/* SPDX-License-Identifier: Apache-2.0
 *
 * The help text, generated from the option table and the subcommand table, so that it cannot describe what
 * the program does not do. Nothing here ends the process.
 */
#ifndef HUTCH_OPTIONS_HELP_H
#define HUTCH_OPTIONS_HELP_H

#include "lib/err.h"
#include "options/subcommands.h"

#include <stdbool.h>
#include <stdio.h>

/* Writes `hutch --help` (row NULL) or the help of one subcommand. False on a write error. */
bool help_write(const struct subcommand_row *row, FILE *out);

/* The usage line, without `usage:` and without a newline; row NULL: hutch itself.
 * The caller frees. */
char *help_usage(const struct subcommand_row *row);

/* Writes the sentence to stderr, with the usage line when the command line is at fault. Returns the exit
 * status. */
int help_complain(const struct error *error, const struct subcommand_row *row);

/* The exit status of a subcommand that wrote to stdout: `written` says whether stdout took it so far. */
int help_print(bool written);

#endif
