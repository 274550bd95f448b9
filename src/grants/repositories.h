/* SPDX-License-Identifier: Apache-2.0
 *
 * Granted work trees whose Git repository is elsewhere (linked worktrees, submodules): Git inside needs that
 * too. This module names the missing option; it grants nothing because of a file in a work tree.
 */
#ifndef HUTCH_GRANTS_REPOSITORIES_H
#define HUTCH_GRANTS_REPOSITORIES_H

#include "grants/resolver.h"

/* Prints a note for each granted work tree whose repository the finished box does not show. */
void repositories_note(const struct resolver *resolver);

#endif
