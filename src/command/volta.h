/* SPDX-License-Identifier: Apache-2.0
 *
 * Shims of Volta: links to volta-shim. Node and its package managers follow `volta pin` in package.json, else
 * Volta's default; a program of a package runs with the node that the package was installed with.
 */
#ifndef HUTCH_COMMAND_VOLTA_H
#define HUTCH_COMMAND_VOLTA_H

#include "command/shim_choice.h"

/* Finds the program of the shim. Errors as in shim_choice.h. */
bool volta_follow(const struct shim_choice *choice);

#endif
