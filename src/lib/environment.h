/* SPDX-License-Identifier: Apache-2.0
 *
 * An environment as a list of KEY=VALUE strings. Never touches the environment of the process itself.
 */
#ifndef HUTCH_LIB_ENVIRONMENT_H
#define HUTCH_LIB_ENVIRONMENT_H

#include "lib/str.h"

/* Sets one variable, or replaces its value. `entry` is KEY=VALUE; the list owns it from now on. */
void environment_set(struct str_list *environment, char *entry);

/* The value of a variable, or NULL. The list owns it. */
const char *environment_find(const struct str_list *environment, const char *name);

#endif
