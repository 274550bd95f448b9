/* SPDX-License-Identifier: Apache-2.0
 *
 * A list of KEY=VALUE strings as an environment. It never touches the environment of this process.
 */
#ifndef HUTCH_LIB_ENVIRONMENT_H
#define HUTCH_LIB_ENVIRONMENT_H

#include "lib/str.h"

/* Sets one variable, replacing what it was; takes ownership of `entry`, KEY=VALUE. */
void environment_set(struct str_list *environment, char *entry);

/* The value of a variable, or NULL. It belongs to the list. */
const char *environment_find(const struct str_list *environment, const char *name);

#endif
