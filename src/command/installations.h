/* SPDX-License-Identifier: Apache-2.0
 *
 * Installed interpreters and tools, by the table policy/installations.json. They have nobody's private files,
 * so hutch may grant them whoever wrote the reference. What an installation looks like decides nothing: a
 * clone could have made it. It only looks.
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
