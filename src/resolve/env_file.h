/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of variables, as container engines read them: KEY=VALUE lines, blank lines, and comments that begin
 * with #. A value is everything behind the = as it stands. What is in such a file is secret: no sentence may
 * hold any of it but the number of a line.
 */
#ifndef HUTCH_RESOLVE_ENV_FILE_H
#define HUTCH_RESOLVE_ENV_FILE_H

#include "box/box.h"

/* Adds the variables of the file at `path` (absolute and normal) to `variables`, as KEY=VALUE. Status 2 names
 * the first line that is none; 125 when the file cannot be read, is larger than 1 MiB, or is reached through
 * a link that the server may have made. One note when other people can read it. */
bool env_file_read(const struct box *box, const char *path, struct str_list *variables, struct error *error);

#endif
