/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs one sandbox from its start to its end: signals, deadlines, the bytes of the server, the exit status.
 *
 * Theory of operation
 *
 *   client ◄─stdio─► supervisor (bridge.h) ◄─pipes─► server, a child of pid 1 of the sandbox
 *      └──◄─► hutch-filter (filter_helper.h) in the bridge's place, with tool rules
 *             hutch-nat (nat_helper.h), with network rules
 *
 * One process runs one poll() loop over all of them (poller.h). An event moves bytes, sets a flag or sets a
 * deadline (deadlines.h); the head of the loop turns deadlines that have passed into signals. The supervisor
 * ends a sandbox in one way only: SIGKILL to its pid 1, which the kernel extends to everything inside. Polite
 * signals come first where there is time for them:
 *
 *     end of input (mcp)  → --stop-grace → SIGTERM → 2 s → SIGKILL
 *     told to stop        → that signal at once    → 2 s → SIGKILL
 *     --timeout (pid 1)   → SIGTERM                → 2 s → SIGKILL, status 124
 *     a limit, a lost helper, a lost mount                 SIGKILL at once
 *
 * Who is hostile. The server chooses every byte of its stdout and stderr, and hutch-nat and hutch-filter read
 * hostile bytes and may be taken over. So the supervisor prints their text as one quoted line, appends their
 * records to files that it opened before, and lets none of them choose a path, a process or a signal. Once
 * the command runs, a seccomp filter allows the supervisor to move bytes and to send signals. It opens no
 * file; with network rules Landlock permits it those of the host's resolver (names_watch.h). The client is
 * trusted, but it shares its descriptors with other programs and may stop reading: nothing here blocks on it
 * or changes the flags of 0, 1 and 2.
 *
 * What remains. The record of a run (run_log.h, run_store.h) is a file that only its own supervisor writes,
 * under a lock that ends with the process; a lock that is free marks a run that is over. The helpers and pid
 * 1 end when the supervisor's end of their socket closes, however it died.
 */
#ifndef HUTCH_RUN_SUPERVISE_H
#define HUTCH_RUN_SUPERVISE_H

#include "box/box.h"
#include "grants/held_sources.h"
#include "run/run_log.h"

/* Starts the box and returns when nothing of it is left: the exit status, or any value with *error set when
 * the command never ran. Releases *held as soon as the sandbox has compared its mounts with it. Begins *log
 * and records in it how the run ended; the caller ends it. Call from the main thread. */
int supervise(const struct box *box, struct held_sources *held, struct run_log *log, struct error *error);

#endif
