/* SPDX-License-Identifier: Apache-2.0
 *
 * Databases that another program has open, below an overlay. It only asks the kernel about locks; nothing of
 * a database is read.
 */
#ifndef HUTCH_GRANTS_JOURNALS_H
#define HUTCH_GRANTS_JOURNALS_H

#include "box/box.h"

/* Refuses, with status 125, an overlay of a directory in which SQLite's journal is in use: the database would
 * change below the overlay, and neither side would see the other's locks. What a crash left behind is no
 * obstacle. Looks at the first 20000 entries, eight directories deep. */
bool journals_check(const struct box *box, struct error *error);

#endif
