/* SPDX-License-Identifier: Apache-2.0
 *
 * hutch-nat, as its supervisor handles it. The supervisor sends it the rules, writes what it reports, and
 * ends it with the sandbox.
 */
#ifndef HUTCH_RUN_NAT_HELPER_H
#define HUTCH_RUN_NAT_HELPER_H

#include "box/box.h"
#include "lib/buf.h"
#include "run/names_watch.h"
#include "run/run_log.h"

struct nat_helper {
        pid_t process;            /* 0: none */
        struct names_watch names; /* of what hutch-nat knows of the host's names */
        int control;              /* this end of descriptor 4 in nat/wire.h, or -1 */
        int dialler;              /* the end of descriptor 6 for pid 1, when a port is published; or -1 */
        int setup;                /* the end of descriptor 3 for the sandbox, until it was cloned; or -1 */
};

#define NAT_HELPER_NONE                                                                                      \
        ((struct nat_helper){.names = NAMES_WATCH_NONE, .control = -1, .setup = -1, .dialler = -1})

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

/* Confines the supervisor so that it can go on to read the host's names (names_watch_confine()). False when
 * they cannot be followed; a line says so. Call after the last other file was opened, with no_new_privs. */
bool nat_helper_follow_names(struct nat_helper *helper);

/* Looks whether the host's names have changed, and tells hutch-nat. Call NAMES_SETTLE_MS after names.inotify
 * became readable. Returns how many milliseconds later to call again, or -1 when only an event asks for it.
 */
int nat_helper_tell_names(struct nat_helper *helper, const struct network *network);

/* Reads one message: prints or records it. False when hutch-nat has exited; the sandbox must then end. */
bool nat_helper_read(struct nat_helper *helper, struct run_log *log);

/* Lets hutch-nat record the flows that are still open, where --log wants them, kills it and waits
 * for it. */
void nat_helper_end(struct nat_helper *helper, struct run_log *log);

#endif
