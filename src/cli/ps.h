/* SPDX-License-Identifier: Apache-2.0
 *
 * `hutch ps` and `hutch logs` show the content of the state directory, as a table or as JSON. They change
 * nothing, and treat every file there as untrusted text.
 */
#ifndef HUTCH_CLI_PS_H
#define HUTCH_CLI_PS_H

#include "options/subcommands.h"

/* Either subcommand; argv[0] is the first word after it. Returns the exit status: 2 for a wrong word; 1 if
 * the state cannot be read, standard output cannot be written, or `logs NAME` finds no run of it. */
int ps_show(const struct subcommand_row *row, int argc, char **argv);

#endif
