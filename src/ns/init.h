/* SPDX-License-Identifier: Apache-2.0
 *
 * Pid 1 of the sandbox, from the fork of the server to the end of the sandbox.
 */
#ifndef HUTCH_NS_INIT_H
#define HUTCH_NS_INIT_H

#include "ns/entering.h"

/* Starts the server, then reaps orphans, obeys the supervisor and keeps the limits until the server or the
 * supervisor has gone or a limit is reached. */
_Noreturn void init_run(struct entering *entering);

#endif
