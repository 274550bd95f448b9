/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts hutch's helper programs without arguments, without an environment, and with no descriptors but the
 * given ones.
 */
#ifndef HUTCH_LIB_CHILD_H
#define HUTCH_LIB_CHILD_H

#include <stddef.h>
#include <sys/types.h>

enum { HELPER_GIVEN_MAX = 11 };

/* Starts `program`. Its descriptor i is a copy of given[i], for i below `count` (at most HELPER_GIVEN_MAX);
 * all others are closed. The caller keeps `given`. Returns the process, or -1 with errno. */
pid_t child_spawn(const char *program, const int *given, size_t count);

/* Kills the process if it still runs, waits for it and sets it to 0. Does nothing for 0 or less. */
void child_end(pid_t *process);

#endif
