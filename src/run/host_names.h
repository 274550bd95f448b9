/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads how the host's own resolver is configured and writes it as the lines that hutch-nat understands
 * (nat/wire.h). hutch-nat itself opens no file.
 */
#ifndef HUTCH_RUN_HOST_NAMES_H
#define HUTCH_RUN_HOST_NAMES_H

#include "box/box.h"

#define HOST_RESOLV_CONF "/etc/resolv.conf"
#define HOST_HOSTS       "/etc/hosts"

/* One line `nameserver` for each of resolv.conf(5), and one line `host` for each name of hosts(5) that a rule
 * covers or that the proxy has. A file that is missing or cannot be read counts as empty. `socket` is any
 * socket of the host's network namespace, by which zones become numbers. The caller frees. */
char *host_names_read(const char *resolv_conf, const char *hosts, const struct network *network, int socket);

#endif
