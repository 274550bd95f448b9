/* SPDX-License-Identifier: Apache-2.0
 *
 * Which host objects the sandbox may see, and where.
 *
 * Theory of operation of src/grants. The user decides by options; hutch refuses what would void the sandbox
 * (sensitive_paths.h) unless --unsafe-grant names that very path. The server of an earlier run is hostile:
 * everything below a writable grant may be its work, be it a file, a link, a repository or a socket. So
 *
 * - each path is walked once (lib/path_walk.h). The real path is judged, under every name that the host has
 * for the object (mountinfo.h). The walker holds the object, its device and inode are recorded in the box,
 * and the sandbox compares both before it attaches the mount: an object that was swapped in between is an
 * error;
 * - a link in a writable grant that leads out of it is refused, wherever a path meets it;
 * - nothing here creates a file or runs a program. What is read from a grant (git.h) is bounded in size, and
 *   its worst effect is one protected path too many.
 *
 * Order, in resolve/resolve.c: the host tree (base.h); what the user grants, and the files of --file; once
 * all grants are known, grants_check_links(); what the command needs; certificates. What takes away follows
 * when the list is complete: hide.h, sockets.h, then protect.h, which also pins the directories
 * above every mount. mounts_sort() is last.
 */
#ifndef HUTCH_GRANTS_GRANTS_H
#define HUTCH_GRANTS_GRANTS_H

#include "box/box.h"
#include "grants/resolver.h"

#include <sys/stat.h>

/* Lets grants_add() grant what is at `path` (absolute and normal) although that voids the sandbox. */
void grants_permit_unsafe(const struct resolver *resolver, const char *path);

/* Grants what the user named with `option`. `path` is absolute and normal. `destination` NULL means
 * the same path inside, by its spelling and by its real path: the links on the way are made inside as they
 * are on the host. Status 125 when the object does not exist, cannot be opened or would void the sandbox. */
bool grants_add(const struct resolver *resolver, const char *path, const char *destination, bool writable,
                const char *option);

/* Grants a directory for reading; what the command changes in it stays in memory and vanishes. */
bool grants_add_overlay(const struct resolver *resolver, const char *path, const char *destination);

/* Adds an empty, writable directory in memory at `path` inside (absolute and normal), after the other grants.
 * `bytes` as in struct mount. Status 125 when it would hide the sandbox's own /usr, /proc or /dev. */
bool grants_add_memory(const struct resolver *resolver, const char *path, uint64_t bytes, const char *option);

/* Grants what the command itself needs, read-only, unless the box already shows it at that path. */
bool grants_add_program(const struct resolver *resolver, const char *path, struct mount_reason reason);

/* Judges a file that is to be copied in like a read-only grant. NULL with status 125 as for grants_add(). */
const struct walked *grants_judge_file(const struct resolver *resolver, const char *path, const char *why);

/* Once all grants are added: refuses a link, on the way to one of them, that is in a writable grant and leads
 * out of it. The server may have made it in an earlier run. */
bool grants_check_links(const struct resolver *resolver);

#endif
