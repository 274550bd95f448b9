/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens the files that hutch appends to on behalf of the user: those of --log and --pin.
 */
#ifndef HUTCH_RUN_LOG_FILE_H
#define HUTCH_RUN_LOG_FILE_H

#include "box/box.h"

/* Opens the file that `option` names for appending, and makes it with mode 0600 if it does not exist. `path`
 * is absolute and normal; `access` is O_WRONLY or O_RDWR. -1 with *error set (status 125) when it is a link,
 * is not a regular file, cannot be opened, or when the sandbox could write to it. */
int log_file_open(const struct box *box, const char *option, const char *path, int access,
                  struct error *error);

#endif
