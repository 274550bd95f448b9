/* SPDX-License-Identifier: Apache-2.0
 *
 * Which argument of a command is its program: the script of `node`, `python3`, `sh`, `java -jar` and their
 * like. It looks at words only. A command that is not in its table has no program argument.
 */
#ifndef HUTCH_BOX_LAUNCHERS_H
#define HUTCH_BOX_LAUNCHERS_H

#include "lib/str.h"

#include <stddef.h>

/* The index in `command` of the word that names the program, or 0 when none does (`-c`, `-m`, `-e`, no word).
 */
size_t launcher_program(const struct str_list *command);

#endif
