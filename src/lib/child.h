/* SPDX-License-Identifier: Apache-2.0
 *
 * The one place that starts another program and ends it. A program gets the given descriptors and no other.
 */
#ifndef HUTCH_LIB_CHILD_H
#define HUTCH_LIB_CHILD_H

#include "lib/err.h"

#include <stddef.h>
#include <sys/types.h>

enum { CHILD_GIVEN_MAX = 11 };

struct child {
        const char *program;      /* its path */
        char *const *words;       /* argv, NULL at the end */
        char *const *environment; /* NULL at the end */
        const int *given;         /* its descriptor i is a copy of given[i]; the caller keeps these */
        size_t given_count;       /* at most CHILD_GIVEN_MAX */
        const char *directory;    /* where it starts; NULL: where this process is */
        bool helper;              /* as child_start_helper() says, and not killed */
        bool session;             /* in a new session; a terminal that is its descriptor 0 controls it */
};

/* Starts a program that is killed when the calling thread ends. Returns the process, or -1 with errno. One
 * that cannot be prepared exits with 125, one that cannot be executed with 127. */
pid_t child_start(const struct child *child);

/* Starts hutch's helper program `name` without arguments and without an environment. It ignores the signals
 * that a terminal or a script sends to the whole job, and ends when its socket hangs up. `what` it is comes
 * into the sentence of an error. Returns the process, or -1 with *error set. */
pid_t child_start_helper(const char *name, const char *what, const int *given, size_t count,
                         struct error *error);

/* Waits for the end of the process, sets it to 0 and returns its wait status; -1 for 0 or less. */
int child_wait(pid_t *process);

/* Kills the process if it still runs, and waits for it. */
void child_end(pid_t *process);

#endif
