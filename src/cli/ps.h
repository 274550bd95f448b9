/* SPDX-License-Identifier: Apache-2.0
 *
 * `hutch ps` and `hutch logs` show the content of the state directory, as a table or as JSON. They change
 * nothing, and treat every file there as untrusted text.
 */
#ifndef HUTCH_CLI_PS_H
#define HUTCH_CLI_PS_H

#include "lib/err.h"
#include "options/subcommands.h"

/* argv[0] is the first word after the subcommand. Returns the exit status, or sets *error: 2 for a wrong
 * word; 1 if the state cannot be read, standard output cannot be written, or `logs NAME` finds no run of it.
 */
int ps_show(const struct subcommand_row *row, int argc, char **argv, struct error *error);
int logs_show(const struct subcommand_row *row, int argc, char **argv, struct error *error);

#endif
