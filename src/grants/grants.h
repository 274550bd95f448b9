/* SPDX-License-Identifier: Apache-2.0
 *
 * Which host objects the user and the command are granted: judged by real path, held open, and added to the
 * list of mounts (mounts.h).
 */
#ifndef HUTCH_GRANTS_GRANTS_H
#define HUTCH_GRANTS_GRANTS_H

#include "box/box.h"
#include "grants/held_sources.h"

#include <sys/stat.h>

/* Lets grants_add() grant what is at `path` (absolute and normal) although that voids the sandbox. */
void grants_permit_unsafe(struct held_sources *held, const char *path);

/* What the person asked for, by the option `why`. `path` is absolute and normal; `destination` NULL means the
 * same path, by both its spelling and its real path (links on the way are made inside as they are on the
 * host). Status 125 when it does not exist, cannot be opened, or would void the sandbox. */
bool grants_add(struct box *box, struct held_sources *held, const char *path, const char *destination,
                bool writable, const char *why, struct error *error);

/* Judges one file that is to be copied in as a grant for reading is judged, and holds it. *real becomes its
 * real path, which the caller frees in every case, and *status what it is. Status 125 as above. */
bool grants_judge_file(struct box *box, struct held_sources *held, const char *path, const char *why,
                       char **real, struct stat *status, struct error *error);

/* Once all grants are added: refuses a link, on the way of one of them, that lies in a writable grant and
 * leads out of it. The server may have made it in an earlier run. */
bool grants_check_links(const struct box *box, const struct held_sources *held, struct error *error);

/* An empty, writable directory in memory at `path` inside (absolute and normal), after the grants were added.
 * `bytes` as in struct mount. Status 125 when it would hide the sandbox's own /usr, /proc or /dev. */
bool grants_add_memory(struct box *box, const char *path, uint64_t bytes, const char *why,
                       struct error *error);

/* The same for a directory whose changes are to vanish: only reading it is granted. */
bool grants_add_overlay(struct box *box, struct held_sources *held, const char *path, const char *destination,
                        struct error *error);

/* What the command itself needs, read-only: skipped when the box already shows it at that path. */
bool grants_add_program(struct box *box, struct held_sources *held, const char *path, const char *why,
                        struct error *error);

#endif
