/* SPDX-License-Identifier: Apache-2.0
 *
 * A reader of Git's configuration files for the two settings that decide what Git runs: the directory of
 * hooks, and further configuration files. The file may be hostile; this module returns text and runs
 * nothing.
 */
#ifndef HUTCH_GRANTS_GIT_CONFIG_H
#define HUTCH_GRANTS_GIT_CONFIG_H

#include "lib/str.h"

/* Appends the values of core.hooksPath to `hooks`, and those of include.path and includeIf.*.path, whatever
 * their condition, to `includes` (git-config(1), "CONFIGURATION FILE"). */
void git_config_read(const char *text, struct str_list *hooks, struct str_list *includes);

#endif
