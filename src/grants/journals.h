/* SPDX-License-Identifier: Apache-2.0
 *
 * SQLite databases below an overlay that another program is using. This module asks the kernel about locks;
 * it reads nothing of a database.
 */
#ifndef HUTCH_GRANTS_JOURNALS_H
#define HUTCH_GRANTS_JOURNALS_H

#include "box/box.h"

/* Refuses, with status 125, an overlay of a directory with a journal in use: the database would change below
 * the overlay, and neither side would see the other's locks. A journal that a crash left does not count.
 * Searches the first 20000 entries, eight directories deep. */
bool journals_check(const struct box *box, struct error *error);

#endif
