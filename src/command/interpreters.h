/* SPDX-License-Identifier: Apache-2.0
 *
 * Which argument of a command is its program: the script of `node`, `python3`, `sh`, `java -jar` and their
 * like. It looks at words only. A command that is not in its table has no program argument.
 */
#ifndef HUTCH_COMMAND_INTERPRETERS_H
#define HUTCH_COMMAND_INTERPRETERS_H

#include "lib/str.h"

#include <stdbool.h>
#include <stddef.h>

/* The index in `command` of the word that names the program, or 0 when none does (`-c`, `-m`, `-e`, no word).
 */
size_t interpreter_program(const struct str_list *command);

/* The module of `python -m MODULE` when it may lie in the working directory, else NULL. It belongs to
 * `command`. */
const char *interpreter_module(const struct str_list *command);

/* The program that env(1) would start, among the words of `words`, which it changes; NULL when there is none.
 */
const char *interpreter_env_program(char *words);

#endif
