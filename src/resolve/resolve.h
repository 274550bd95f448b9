/* SPDX-License-Identifier: Apache-2.0
 *
 * From what the person wrote to the complete description of one sandbox. Every decision is made here, once.
 */
#ifndef HUTCH_RESOLVE_RESOLVE_H
#define HUTCH_RESOLVE_RESOLVE_H

#include "box/box.h"
#include "grants/held_sources.h"
#include "options/options.h"

/* Fills *box, which box_free() takes back in every case, and *held. False with a sentence: 2, 125, 126, 127.
 */
bool resolve_box(struct box *box, struct held_sources *held, enum box_kind kind,
                 const struct options *options, struct error *error);

#endif
