/* SPDX-License-Identifier: Apache-2.0
 *
 * Grants in the syntax of container engines, each read into the struct grant_option of --ro and --rw, and the
 * files of --file. Any other form is refused with status 2; nothing that is not understood is skipped.
 */
#ifndef HUTCH_OPTIONS_MOUNT_SYNTAX_H
#define HUTCH_OPTIONS_MOUNT_SYNTAX_H

#include "options/options.h"

/* Fills a zeroed grant, whose strings the caller frees, also after a refusal. */
typedef bool mount_syntax_reader(const char *text, struct grant_option *grant, struct error *error);

/* SRC:DST[:ro] */
mount_syntax_reader mount_syntax_read_volume;
/* type=bind,source=…,target=…[,readonly] or type=tmpfs,target=…[,tmpfs-size=…] */
mount_syntax_reader mount_syntax_read_mount;
/* PATH[:SIZE] */
mount_syntax_reader mount_syntax_read_tmpfs;

/* PATH[:DEST] of --ro, --rw, their -try and --overlay; `name` is the option without its dashes. Nothing is to
 * be freed after a refusal. */
bool mount_syntax_read_grant(const char *name, const char *text, struct grant_option *grant,
                             struct error *error);

/* LOCAL:REMOTE. Fills a zeroed file, whose strings the caller frees, also after a refusal. */
bool mount_syntax_read_file(const char *text, struct file_option *file, struct error *error);

#endif
