/* SPDX-License-Identifier: Apache-2.0
 *
 * hutch-nat, as its supervisor handles it. The supervisor sends it the rules, writes what it reports, and
 * ends it with the sandbox.
 */
#ifndef HUTCH_RUN_NAT_HELPER_H
#define HUTCH_RUN_NAT_HELPER_H

#include "box/box.h"
#include "lib/buf.h"
#include "run/run_log.h"

struct nat_helper {
        pid_t process; /* 0: none */
        pid_t watcher; /* hutch-names (names_watch.h); 0 or less: none */
        int watching;  /* a pidfd of the watcher, or -1 */
        char *names;   /* what hutch-nat knows of the host's names, until the watcher starts */
        int control;   /* this end of descriptor 4 in nat/wire.h, or -1 */
        int dialler;   /* the end of descriptor 6 for pid 1, when a port is published; or -1 */
        int setup;     /* the end of descriptor 3 for the sandbox, until it was cloned; or -1 */
};

#define NAT_HELPER_NONE ((struct nat_helper){.watching = -1, .control = -1, .setup = -1, .dialler = -1})

/* Starts it with an empty environment and no descriptor but those of nat/wire.h. Binds the published ports of
 * the host first; a port that is taken is an error. `filter` is its end of the socket to hutch-filter, or -1.
 */
bool nat_helper_start(struct nat_helper *helper, const struct box *box, int filter, struct error *error);

/* Two parts of nat_helper_start() without a look at the machine: the rules as lines of nat/wire.h, and the
 * error for a published port when listening on it failed with `problem`, an errno. */
void nat_helper_write_rules(const struct box *box, bool explain, struct buf *out);
bool nat_helper_refuse_port(const struct port_pair *pair, int problem, struct error *error);

/* Closes the ends that the sandbox was cloned with. */
void nat_helper_close_setup(struct nat_helper *helper);

/* Starts the process that tells hutch-nat when the host's names change. Call once, before the supervisor
 * loads its filter. */
void nat_helper_watch_names(struct nat_helper *helper, const struct box *box);

/* Reads one message: prints or records it. False when hutch-nat has exited; the sandbox must then end. */
bool nat_helper_read(struct nat_helper *helper, struct run_log *log);

/* Call when `watching` is readable: hutch-names has exited, which nothing inside can cause. Warns that
 * changes of the host's names are no longer followed. */
void nat_helper_report_watcher_end(struct nat_helper *helper);

/* Lets hutch-nat record the flows that are still open, where --log wants them, kills both processes and waits
 * for them. */
void nat_helper_end(struct nat_helper *helper, struct run_log *log);

#endif
