/* SPDX-License-Identifier: Apache-2.0
 *
 * Granted work trees whose Git repository lies elsewhere (a linked worktree, a submodule): Git inside needs
 * that too. It only says which option is missing; nothing is granted because of a file in a work tree.
 */
#ifndef HUTCH_GRANTS_REPOSITORIES_H
#define HUTCH_GRANTS_REPOSITORIES_H

#include "box/box.h"

/* One note on stderr for each granted work tree whose repository the finished box does not show. */
void repositories_note(const struct box *box);

#endif
