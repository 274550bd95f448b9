/* SPDX-License-Identifier: Apache-2.0
 *
 * The files that hutch itself appends to: those of --log and --pin.
 */
#ifndef HUTCH_RUN_LOG_FILE_H
#define HUTCH_RUN_LOG_FILE_H

#include "box/box.h"

/* Opens the file that `option` names (absolute and normal) for appending, and makes it, 0600, where it does
 * not exist; `access` is O_WRONLY or O_RDWR. -1 with a sentence, 125: it is a link or no regular file, it
 * cannot be opened, or the sandbox could write to it. */
int log_file_open(const struct box *box, const char *option, const char *path, int access,
                  struct error *error);

#endif
