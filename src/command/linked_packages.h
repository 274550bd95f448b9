/* SPDX-License-Identifier: Apache-2.0
 *
 * Packages that the program's directory only points at: a link of `npm link` in its node_modules, a line of
 * `pip install --editable` in its virtual environment. They lie elsewhere, and inside they are missing; one
 * note says so. It grants nothing, and says nothing about what the command may have written itself.
 */
#ifndef HUTCH_COMMAND_LINKED_PACKAGES_H
#define HUTCH_COMMAND_LINKED_PACKAGES_H

#include "box/box.h"

void linked_packages_note_unseen(const struct box *box);

#endif
