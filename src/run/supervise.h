/* SPDX-License-Identifier: Apache-2.0
 *
 * One sandbox from its start to its end: signals, deadlines, the bridge, the exit status.
 */
#ifndef HUTCH_RUN_SUPERVISE_H
#define HUTCH_RUN_SUPERVISE_H

#include "box/box.h"
#include "grants/held_sources.h"
#include "run/run_log.h"

/* Starts the box and stays until nothing of it is left. Returns the exit status for the caller (cli.md), or
 * *error set when the server never ran. Releases *held as soon as the sandbox has compared. Begins
 * *record and tells it how the run ended; its end is the caller's. */
int supervise(const struct box *box, struct held_sources *held, struct run_log *record, struct error *error);

#endif
