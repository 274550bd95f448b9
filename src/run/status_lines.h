/* SPDX-License-Identifier: Apache-2.0
 *
 * The lines of --status-fd: what hutch tells the program that started it about the sandbox, as JSON, one
 * object on one line. Nothing inside a sandbox gets the descriptor, and a reader that does not read stops
 * nothing: a line that finds no room is dropped whole, and the next one counts it. Works under the
 * supervisor's filter once it has begun. inner.h reads these lines.
 */
#ifndef HUTCH_RUN_STATUS_LINES_H
#define HUTCH_RUN_STATUS_LINES_H

#include "box/box.h"
#include "ns/failure.h"
#include "run/ending.h"

/* From now on `fd` gets the lines, and hutch's own lines as `note` in place of stderr. 0: does nothing, like
 * the functions below from then on. */
void status_lines_begin(int fd);

/* The descriptors in use, or -1. */
void status_lines_descriptors(int descriptors[2]);

/* What holds each limit, and which layers the command is in. */
void status_lines_chosen(const struct box *box, const struct limits *limits);

/* The command runs; `process`: the sandbox's pid 1, outside. */
void status_lines_started(pid_t process);

/* The last line. Waits up to a second for room. `failure`: the step that failed, or stage STAGE_COUNT. */
void status_lines_ended(enum ending ending, int status, int signal_number, unsigned timeout_seconds,
                        const struct failure *failure);

#endif
