/* SPDX-License-Identifier: Apache-2.0
 *
 * The moments at which the supervisor has something to do, in milliseconds of the monotonic clock, and how it
 * waits for a server whose client has gone and for a client that stopped reading. Pure: the caller passes the
 * time.
 */
#ifndef HUTCH_RUN_DEADLINES_H
#define HUTCH_RUN_DEADLINES_H

#include <stdbool.h>

#define DEADLINE_NEVER (-1LL)

enum deadline {
        DEADLINE_SETTLE, /* give back the memory that only the start needed, and begin to watch mounts */
        DEADLINE_NAMES,  /* look whether the host's names have changed */
        DEADLINE_NOTICE, /* announce that --timeout is near */
        DEADLINE_TERM,   /* the end of --stop-grace: SIGTERM */
        DEADLINE_KILL,   /* SIGKILL */
        DEADLINE_DRAIN,  /* stop waiting for a client that takes nothing */
        DEADLINES
};

struct deadlines {
        long long at[DEADLINES];
};

#define DEADLINES_NONE ((struct deadlines){.at = {[0 ... DEADLINES - 1] = DEADLINE_NEVER}})

/* Sets a deadline, unless it is set already. */
void deadlines_set_once(struct deadlines *deadlines, enum deadline deadline, long long at);

/* True once when the deadline has passed; clears it. */
bool deadlines_take(struct deadlines *deadlines, enum deadline deadline, long long now);

/* Milliseconds for poll() until the first of the deadlines and `other`: 0 when one has passed, -1 when there
 * is none. */
int deadlines_timeout(const struct deadlines *deadlines, long long other, long long now);

/* The grace of a server whose client has gone. Zero it to begin. */
struct grace {
        bool began;
        unsigned long long given; /* bytes of input that the server had taken when it was last extended */
        long long ends_at_latest; /* after this, taking more input no longer extends it */
};

/* Call while the client is gone. Begins the grace, and extends it while the server still takes input that the
 * client left behind, for at most a minute. Returns when SIGTERM is due, or DEADLINE_NEVER when that has not
 * changed. */
long long deadlines_extend_grace(struct grace *grace, unsigned long long given, unsigned grace_seconds,
                                 long long now);

/* Call while output of an ended server waits for the client; `taken` counts the bytes that the client took.
 * True when the client has taken nothing for two seconds. Sets DEADLINE_DRAIN and *last_taken. */
bool deadlines_give_up_drain(struct deadlines *deadlines, unsigned long long taken,
                             unsigned long long *last_taken, long long now);

#endif
