/* SPDX-License-Identifier: Apache-2.0
 *
 * Installed interpreters and tools, by the table policy/installations.json. They have nobody's private files,
 * so hutch may grant them whoever wrote the reference. Their place decides, by real path, and what they look
 * like does not: a clone could have made a directory with bin/python3, and a private directory may have one.
 * Of a place only the entries in the table are granted, because people keep environments (conda's envs) and
 * configuration with tokens (npm's etc/npmrc) beside them. It only looks.
 */
#ifndef HUTCH_COMMAND_INSTALLATIONS_H
#define HUTCH_COMMAND_INSTALLATIONS_H

#include "command/grant_list.h"
#include "grants/resolver.h"

#include <stdbool.h>

/* True when `real` (a real path; its last component may be a link) is in what an installation shows. `grants`
 * then gets all that it shows, unless it is NULL. */
bool installation_add(const struct resolver *resolver, const char *real, const char *why,
                      struct grant_list *grants);

#endif
