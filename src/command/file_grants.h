/* SPDX-License-Identifier: Apache-2.0
 *
 * Which grant one needed file brings: its virtual environment and project, the root of its package or
 * installation, its directory, or the file alone. It looks at the one file; needed_files.h follows its links
 * and interpreters.
 */
#ifndef HUTCH_COMMAND_FILE_GRANTS_H
#define HUTCH_COMMAND_FILE_GRANTS_H

#include "command/finding.h"

#include <stdbool.h>

/* Grants what the file at `path` needs. With `has_link` a component of `path` is a link: a later step then
 * brings what is beside the real file. Without `trusted`, the file is granted only as part of an installed
 * interpreter, and otherwise noted as data. False with status 125 when the file alone would have to be
 * granted and must not be. */
bool file_grants_add(struct finding *finding, const char *path, bool has_link, const char *why, bool trusted);

#endif
