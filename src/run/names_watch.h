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

/* Adds the inotify watches that report a change of where `path` (absolute) leads, or of the file there. What
 * cannot be watched is skipped. */
void names_watch_add(int inotify, const char *path);

/* Reads what the files say now, as host_names_read() does. `told` is what was read before. A resolv.conf that
 * lost its name servers is usually about to be replaced, and without one every new connection fails; so the
 * change is believed only when it lasts for a tenth of a second. The caller frees. */
char *names_watch_read(const char *resolv_conf, const char *hosts, const struct network *network,
                       const char *told);

#endif
