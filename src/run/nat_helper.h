/* SPDX-License-Identifier: Apache-2.0
 *
 * hutch-nat as its supervisor sees it: started, told the rules, listened to, gone when the sandbox is.
 */
#ifndef HUTCH_RUN_NAT_HELPER_H
#define HUTCH_RUN_NAT_HELPER_H

#include "box/box.h"
#include "run/run_log.h"

struct nat_helper {
        pid_t process; /* 0: none */
        pid_t watcher; /* of the host's names (names_watch.h); 0 or less: none */
        int watching;  /* readable when the watcher has ended; -1: none */
        char *names;   /* what it was told about the host's names, until they are watched */
        int control;   /* wire.h's descriptor 4, this end; -1: none */
        int dialler;   /* descriptor 6, the end that pid 1 has, where a port is published; -1: none */
        int setup;     /* descriptor 3, the end that the sandbox is entered with; -1: none */
};

#define NAT_HELPER_NONE ((struct nat_helper){.watching = -1, .control = -1, .setup = -1, .dialler = -1})

/* Starts it, with an empty environment and no descriptor but its own. Binds
 * the published ports of the host first: one that is taken is an error. `filter`: its end of what connects it
 * with hutch-filter, or -1. */
bool nat_helper_start(struct nat_helper *helper, const struct box *box, int filter, struct error *error);

/* Closes what the sandbox was entered with. */
void nat_helper_close_setup(struct nat_helper *helper);

/* Begins to tell it of changes of the host's names. Once, and before the supervisor's filter. */
void nat_helper_watch_names(struct nat_helper *helper, const struct box *box);

/* Says what it has to say, and records it. False when it has ended: the sandbox must too. */
bool nat_helper_read(struct nat_helper *helper, struct run_log *log);

/* The watcher has ended, which only somebody outside can have done: the names known go on to be used, and the
 * person is told so. */
void nat_helper_report_watcher_end(struct nat_helper *helper);

/* Ends it, if it has not ended, and waits for that; before, it may record its last for a moment. */
void nat_helper_end(struct nat_helper *helper, struct run_log *log);

#endif
