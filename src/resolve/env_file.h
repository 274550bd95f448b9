/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of variables in the format of container engines: KEY=VALUE lines, blank lines, and comments that
 * begin with #. The value is everything after the =, unchanged. The content is secret: a message may contain
 * the number of a line, and nothing of the file.
 */
#ifndef HUTCH_RESOLVE_ENV_FILE_H
#define HUTCH_RESOLVE_ENV_FILE_H

#include "grants/resolver.h"

/* Adds the variables of the file at `path` (absolute and normal) to `variables`, as KEY=VALUE. Status 2 names
 * the first line that is not KEY=VALUE; 125 when the file cannot be read, is larger than 1 MiB, or is reached
 * through a link that the server may have made. One note when other users can read it. */
bool env_file_read(const struct resolver *resolver, const char *path, struct str_list *variables);

#endif
