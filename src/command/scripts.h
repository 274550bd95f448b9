/* SPDX-License-Identifier: Apache-2.0
 *
 * What a script's own text names: the interpreter of its #! line, and the program of a shell script that npm
 * or pnpm wrote. It reads one file and grants nothing; the file may be hostile.
 */
#ifndef HUTCH_COMMAND_SCRIPTS_H
#define HUTCH_COMMAND_SCRIPTS_H

#include <stdbool.h>

enum { SCRIPT_LINE_MAX = 256 }; /* what the kernel reads of a #! line */

struct script_line {
        char *interpreter; /* both point into `text` */
        char *words;       /* what follows the interpreter, "" when nothing does */
        char text[SCRIPT_LINE_MAX + 1];
};

/* Reads the #! line of a file. False when the file has none, as a program of machine code. */
bool script_read_line(const char *file, struct script_line *line);

/* The program that `node` runs in a script that pnpm or npm wrote in place of a link (cmd-shim), as a path
 * relative to the script's directory. NULL when the file is another one. The caller frees. */
char *script_read_node_program(const char *file);

#endif
