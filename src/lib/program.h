/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the programs of hutch. Never from PATH or the environment, because whoever chooses a helper chooses
 * what hutch does. The caller frees each path.
 */
#ifndef HUTCH_LIB_PROGRAM_H
#define HUTCH_LIB_PROGRAM_H

/* The real path of a helper program: next to the running hutch (in a build directory), or else installed in
 * libexec/hutch, of the prefix of the running hutch or of the configured one. A helper finds "hutch" next to
 * it or in bin of these prefixes. NULL if it is in none of these places. */
char *program_find(const char *name);

/* The real path of the running program. */
char *program_self(void);

#endif
