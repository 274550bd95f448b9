/* SPDX-License-Identifier: Apache-2.0
 *
 * Which argument of a command is its program: the script of `node`, `python3`, `sh`, `java -jar` and similar
 * interpreters. It only looks at words. A command that is not in its table has no program argument.
 */
#ifndef HUTCH_COMMAND_INTERPRETERS_H
#define HUTCH_COMMAND_INTERPRETERS_H

#include "lib/str.h"

#include <stdbool.h>
#include <stddef.h>

/* The index in `command` of the word that names the program; 0 when no word does (`-c`, `-m`, `-e`). *module
 * becomes the module of `python -m MODULE`, a part of `command`; NULL without one, and when options keep
 * Python from looking for it in the working directory. */
size_t interpreter_program(const struct str_list *command, const char **module);

/* The program that env(1) starts when its arguments are `words`, which the function changes; or NULL. */
const char *interpreter_env_program(char *words);

#endif
