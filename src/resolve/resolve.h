/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns the options into the complete description of one sandbox. Every decision is made here, once.
 */
#ifndef HUTCH_RESOLVE_RESOLVE_H
#define HUTCH_RESOLVE_RESOLVE_H

#include "box/box.h"
#include "grants/held_sources.h"
#include "options/options.h"

/* Fills *box, which the caller frees with box_free() in every case, and *held. False with a sentence and
 * status 2, 125, 126 or 127. */
bool resolve_box(struct box *box, struct held_sources *held, enum box_kind kind,
                 const struct options *options, struct error *error);

#endif
