/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting one of hutch's own helper programs: no argument, no environment, no descriptor but those it is
 * given.
 */
#ifndef HUTCH_LIB_CHILD_H
#define HUTCH_LIB_CHILD_H

#include <stddef.h>
#include <sys/types.h>

enum { HELPER_GIVEN_MAX = 11 };

/* Starts `program`, whose descriptor i will be given[i], in all `count` (at most HELPER_GIVEN_MAX); what is
 * given stays the caller's. Returns the process, or -1 with errno. */
pid_t child_spawn(const char *program, const int *given, size_t count);

/* Ends the process, if it has not ended, waits for that and sets it to 0. Nothing for 0 or less. */
void child_end(pid_t *process);

#endif
