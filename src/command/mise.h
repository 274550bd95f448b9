/* SPDX-License-Identifier: Apache-2.0
 *
 * Shims of mise: links to mise itself. The tool that has a program of the shim's name follows a variable,
 * then mise's configuration files.
 */
#ifndef HUTCH_COMMAND_MISE_H
#define HUTCH_COMMAND_MISE_H

#include "command/shim_choice.h"

/* Finds the program of the shim. Errors as in shim_choice.h. */
bool mise_follow(const struct shim_choice *choice);

#endif
