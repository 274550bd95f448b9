/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of --log.
 */
#ifndef HUTCH_RUN_LOG_FILE_H
#define HUTCH_RUN_LOG_FILE_H

#include "box/box.h"

/* Opens box->log_path for appending and makes it, 0600, where it does not exist. -1 with a sentence, 125: it
 * is a link or no regular file, it cannot be opened, or the sandbox could write to it. */
int log_file_open(const struct box *box, struct error *error);

#endif
