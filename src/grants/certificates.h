/* SPDX-License-Identifier: Apache-2.0
 *
 * A variable that names certificates is of no use inside without them.
 */
#ifndef HUTCH_GRANTS_CERTIFICATES_H
#define HUTCH_GRANTS_CERTIFICATES_H

#include "grants/mounts.h"

/* Grants, read-only and at the same path, exactly the file (for variables that name directories: the
 * directories) that a certificate variable names which the person passed on by --env or --env-file. What is
 * visible already needs no grant; a missing one is a note. Status 125 when a grant is refused, as with --ro.
 * After env_make(). */
bool certificates_add(struct box *box, struct held_sources *held, struct error *error);

#endif
