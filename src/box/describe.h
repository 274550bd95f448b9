/* SPDX-License-Identifier: Apache-2.0
 *
 * The box as JSON, for `hutch --dry-run`: every field, so that the user can check everything about a sandbox.
 * The values of variables that the user named never appear, since users paste descriptions into bug reports.
 */
#ifndef HUTCH_BOX_DESCRIBE_H
#define HUTCH_BOX_DESCRIBE_H

#include "box/box.h"

#include <stdio.h>

/* Writes the box as one JSON object; false when `out` cannot be written. */
bool describe_box(const struct box *box, FILE *out);

#endif
