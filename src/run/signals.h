/* SPDX-License-Identifier: Apache-2.0
 *
 * The signals that hutch receives on behalf of the server.
 */
#ifndef HUTCH_RUN_SIGNALS_H
#define HUTCH_RUN_SIGNALS_H

#include "box/box.h"

struct signals {
        int descriptor;       /* a signalfd that does not block; or -1 */
        bool ignores_hang_up; /* the caller started hutch with SIGHUP ignored (nohup) */
};

/* Blocks the signals that are forwarded to the server and opens the signalfd that receives them. What the
 * caller made hutch ignore stays ignored. Ignores SIGPIPE, blocks SIGTTOU, and resets SIGCHLD. */
bool signals_open(struct signals *signals, struct error *error);

/* True when the signal tells hutch to stop; any other is only forwarded. */
bool signals_stop_run(enum box_kind kind, int signal_number);

#endif
