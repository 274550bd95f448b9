/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandbox's /etc: a handful of small files made here, and the host's own where programs need the
 * machine's answer (the loader's cache, alternatives, certificate authorities). No account, host name,
 * address or setting of the host is in it.
 */
#ifndef HUTCH_GRANTS_ETC_H
#define HUTCH_GRANTS_ETC_H

#include "box/box.h"

/* Paths of the host that appear at the same place when they exist; NULL-terminated. */
extern const char *const etc_host_paths[];

/* Adds the files that are made. box->home must be set. */
void etc_add_files(struct box *box);

#endif
