/* SPDX-License-Identifier: Apache-2.0
 *
 * What the host's own resolver is configured with, as hutch-nat is told it (nat/wire.h). hutch-nat opens no
 * file, so this does.
 */
#ifndef HUTCH_RUN_HOST_NAMES_H
#define HUTCH_RUN_HOST_NAMES_H

#include "box/box.h"

#define HOST_RESOLV_CONF "/etc/resolv.conf"
#define HOST_HOSTS       "/etc/hosts"

/* Lines: `nameserver` for each of resolv.conf (5), and `host` for each name of hosts (5) that a rule covers
 * or the proxy has. Missing and unreadable files are empty ones. The caller frees. */
char *host_names_read(const char *resolv_conf, const char *hosts, const struct network *network);

#endif
