/* SPDX-License-Identifier: Apache-2.0
 *
 * Where hutch's own helper programs are.
 */
#ifndef HUTCH_LIB_PROGRAM_H
#define HUTCH_LIB_PROGRAM_H

/* The real path of a helper: beside the running hutch, where a build directory has it, else where it is
 * installed (libexec/hutch, of hutch's own prefix or of the one it was built for). Never from PATH or the
 * environment: whoever can choose a helper chooses what hutch does. The caller frees; NULL when it is in no
 * such place. */
char *program_find(const char *name);

#endif
