/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions that read an option's value into struct options, for the rows of the option table. A reader
 * checks form only: whether a path exists is asked only to split PATH:DEST, and whether it may be granted is
 * decided elsewhere. No sentence may hold the value of a variable.
 */
#ifndef HUTCH_OPTIONS_READERS_H
#define HUTCH_OPTIONS_READERS_H

#include "options/options.h"

/* Into the field of struct options that the row names: a flag, a text, a path with a leading ~ expanded,
 * seconds; or one more item of its list. */
option_reader reader_set_flag, reader_text, reader_path, reader_seconds, reader_add_text, reader_add_path,
    reader_add_tool, reader_hide;

/* Into the one field that the option has. */
option_reader reader_count_verbose, reader_env, reader_grant, reader_volume, reader_mount, reader_tmpfs,
    reader_file, reader_message_max, reader_memory, reader_disk, reader_cpus, reader_pids, reader_require,
    reader_userns, reader_proc, reader_fetch, reader_persist, reader_days, reader_status_fd;

#endif
