/* SPDX-License-Identifier: Apache-2.0
 *
 * Notes about packages that the program's directory only refers to: a link of `npm link` in its node_modules,
 * a line of `pip install --editable` in its virtual environment. Their files are elsewhere and not visible
 * inside. It grants nothing. It looks only into directories that hutch granted because of the command: in the
 * user's own grants an earlier run may have written the reference.
 */
#ifndef HUTCH_COMMAND_LINKED_PACKAGES_H
#define HUTCH_COMMAND_LINKED_PACKAGES_H

#include "grants/resolver.h"

/* Prints one note for each such package of a finished box, up to a bound. */
void linked_packages_note_unseen(const struct resolver *resolver);

#endif
