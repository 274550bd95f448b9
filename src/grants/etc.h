/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandbox's /etc: small files that hutch writes, and the host's own where programs need the machine's
 * answer (the loader's cache, alternatives, certificate authorities). It shows no account, host name, address
 * or setting of the host.
 */
#ifndef HUTCH_GRANTS_ETC_H
#define HUTCH_GRANTS_ETC_H

#include "box/box.h"

/* Paths of the host that appear at the same path inside where they exist; NULL-terminated. */
extern const char *const etc_host_paths[];

/* Adds the files that hutch writes. box->home and the network rules must be set. */
void etc_add_files(struct box *box);

#endif
