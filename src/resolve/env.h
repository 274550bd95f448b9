/* SPDX-License-Identifier: Apache-2.0
 *
 * The environment of the command: eight variables that every program expects, the template's constants, and
 * the variables of --env and --env-file. No other variable of the caller may ever pass.
 */
#ifndef HUTCH_RESOLVE_ENV_H
#define HUTCH_RESOLVE_ENV_H

#include "grants/resolver.h"
#include "policy/template.h"

/* Fills box->environment and box->secret_names; box->home must be set. `front`: directories that come before
 * the template's in PATH. `from_files`: KEY=VALUE of --env-file, which --env replaces. Status 2 when all of
 * it together is more than the kernel takes. */
bool env_make(const struct resolver *resolver, const struct str_list *from_files);

#endif
