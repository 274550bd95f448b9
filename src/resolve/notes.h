/* SPDX-License-Identifier: Apache-2.0
 *
 * Notes for the user, before the command runs, about what will probably not work as meant: one line each on
 * stderr. Nothing is decided or changed here.
 */
#ifndef HUTCH_RESOLVE_NOTES_H
#define HUTCH_RESOLVE_NOTES_H

#include "box/box.h"
#include "command/toolchain.h"

/* True when the command is the client of a container engine: inside it cannot reach the engine. */
bool notes_is_container_engine(const struct box *box);

/* `cwd`: the caller's working directory, absolute. */
void notes_say(const struct box *box, const char *cwd, const struct toolchain *toolchain);

#endif
