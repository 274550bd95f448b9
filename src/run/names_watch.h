/* SPDX-License-Identifier: Apache-2.0
 *
 * What the host's resolver is configured with changes while a sandbox runs: a laptop changes networks. A
 * process of its own watches the two files and tells hutch-nat. The supervisor cannot, because it opens no
 * file once the server runs; this process reads nothing that a server could have chosen.
 */
#ifndef HUTCH_RUN_NAMES_WATCH_H
#define HUTCH_RUN_NAMES_WATCH_H

#include "box/box.h"

/* Starts it. `told` is what hutch-nat knows (host_names.h), `talk` the supervisor's descriptor to it. It ends
 * with this process at the latest. Its process, a child, or -1 with errno. */
pid_t names_watch_start(const struct network *network, const char *told, int talk);

#endif
