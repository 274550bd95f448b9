/* SPDX-License-Identifier: Apache-2.0
 *
 * Notes about arguments of the command that are paths on the host and not visible inside. It looks at the
 * finished box and grants nothing.
 */
#ifndef HUTCH_COMMAND_UNSEEN_H
#define HUTCH_COMMAND_UNSEEN_H

#include "grants/resolver.h"
#include "lib/str.h"

/* Prints one note for each of `paths` (absolute and normal) that no mount of the finished box shows. */
void unseen_note(const struct resolver *resolver, const struct str_list *paths);

#endif
