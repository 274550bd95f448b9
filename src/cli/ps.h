/* SPDX-License-Identifier: Apache-2.0
 *
 * `hutch ps` and `hutch logs`: what the state directory says, for a person or as JSON. They change nothing.
 * What lies in that directory is treated as anybody's text.
 */
#ifndef HUTCH_CLI_PS_H
#define HUTCH_CLI_PS_H

#include "lib/err.h"
#include "options/help.h"

/* argv[0] is the first word after the subcommand. The exit status, or *error set: 2 for a wrong word, 1 when
 * the state cannot be read or standard output takes nothing, or `logs NAME` knows no run of it. */
int ps_show(const struct subcommand_row *row, int argc, char **argv, struct error *error);
int logs_show(const struct subcommand_row *row, int argc, char **argv, struct error *error);

#endif
