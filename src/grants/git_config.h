/* SPDX-License-Identifier: Apache-2.0
 *
 * The two kinds of places that a configuration file of Git names and that decide what Git runs: the directory
 * of hooks, and further configuration files. The file may be hostile: whatever is in it, nothing but these
 * texts come out, and Git itself is never asked.
 */
#ifndef HUTCH_GRANTS_GIT_CONFIG_H
#define HUTCH_GRANTS_GIT_CONFIG_H

#include "lib/str.h"

/* Appends the values of core.hooksPath, and those of include.path and includeIf.*.path whatever their
 * condition, as they are written (git-config(1): "CONFIGURATION FILE"). `text` ends with a NUL; it is read as
 * far as it can be understood. */
void git_config_read(const char *text, struct str_list *hooks, struct str_list *includes);

#endif
