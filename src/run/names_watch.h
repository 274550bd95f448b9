/* SPDX-License-Identifier: Apache-2.0
 *
 * hutch-names: a process that watches the configuration of the host's resolver while a sandbox runs, because
 * a laptop changes networks, and tells hutch-nat of changes. The supervisor cannot do this, because its
 * filter refuses to open files. Nothing that this process reads comes from the server.
 */
#ifndef HUTCH_RUN_NAMES_WATCH_H
#define HUTCH_RUN_NAMES_WATCH_H

#include "box/box.h"

/* Starts the process, a child. `told` is what hutch-nat knows already (host_names.h); `control` is the
 * supervisor's socket to it. The process ends with the caller at the latest. Returns it, or -1 with errno. */
pid_t names_watch_start(const struct network *network, const char *told, int talk);

#endif
