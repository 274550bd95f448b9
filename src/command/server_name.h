/* SPDX-License-Identifier: Apache-2.0
 *
 * By which name `hutch ps` and `hutch logs` know a server: derived from the command that the person wrote, so
 * that the same command has the same name in every run, also in one that failed early. It is for showing and
 * for keeping runs apart; nothing may be permitted because of it.
 */
#ifndef HUTCH_COMMAND_SERVER_NAME_H
#define HUTCH_COMMAND_SERVER_NAME_H

#include "lib/str.h"

enum { SERVER_NAME_MAX = 64 };

/* The package of `npx` or `uvx`; else the package that the script of `node`, `python3` and their like lies
 * in, or the script's own name; else the module of `python -m`; else the command's own name. `work`
 * (absolute) is where relative paths begin. Clean, as below. The caller frees. */
char *server_name(const struct str_list *command, const char *work);

/* `text` as such a name: 1 to SERVER_NAME_MAX bytes of [A-Za-z0-9._+@-], with one `/` where it is
 * `@scope/name`, beginning with none of `.` and `-`; every other byte becomes `_`. A clean name stays as it
 * is. The caller frees. */
char *server_name_clean(const char *text);

#endif
