/* SPDX-License-Identifier: Apache-2.0
 *
 * Landlock, the second layer under the mounts: what this kernel's version can enforce, and enforcing it.
 */
#ifndef HUTCH_NS_LANDLOCK_H
#define HUTCH_NS_LANDLOCK_H

#include "ns/entering.h"

#include <stdint.h>

/* The kernel's version of the Landlock interface; 0 without Landlock. */
int landlock_abi(void);

/* Whether version `abi` can enforce the file layer for this box. If not, *why is half a sentence. */
bool landlock_guards_files(const struct box *box, int abi, const char **why);

/* Whether version `abi` refuses connections to a socket that a host program makes in a grant later. */
bool landlock_guards_sockets(const struct box *box, int abi);

/* The file rights that a ruleset of version `abi` denies wherever no rule grants them. */
uint64_t landlock_file_rights(int abi);

/* Those of the `handled` rights that the server gets at and below one mount; 0: none. */
uint64_t landlock_mount_rights(const struct mount *mount, uint64_t handled, enum userns_mode userns);

/* Restricts the calling process for good: it can open files for reading in and below these directories, and
 * can neither list a directory nor open a file for writing. A directory that cannot be opened is left out.
 * The caller has set no_new_privs. 0, or a negative errno, which without Landlock is ENOSYS or EOPNOTSUPP. */
int landlock_permit_reading(const char *const *directories, size_t count);

/* Restricts the calling process for good, as the box says. */
void landlock_enter(const struct entering *entering);

#endif
