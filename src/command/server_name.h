/* SPDX-License-Identifier: Apache-2.0
 *
 * The name of a server in `hutch ps` and `hutch logs`. It follows from the command that the user wrote, so
 * the same command has the same name in every run, also in a run that failed early. The name is for display
 * and to tell runs apart; hutch permits nothing because of it.
 */
#ifndef HUTCH_COMMAND_SERVER_NAME_H
#define HUTCH_COMMAND_SERVER_NAME_H

#include "lib/str.h"

enum { SERVER_NAME_MAX = 64 };

/* The package of `npx` or `uvx`; else, for the script of `node`, `python3` and similar interpreters, the
 * package around the script or the script's name; else the module of `python -m`; else the command's name.
 * Relative paths begin at `work` (absolute). The result is clean, as below. The caller frees. */
char *server_name(const struct str_list *words, const char *work);

/* `text` as a clean name: 1 to SERVER_NAME_MAX bytes of [A-Za-z0-9._+@-], not beginning with `.` or `-`, with
 * one `/` in `@scope/name`. Every other byte becomes `_`. A clean name does not change. The caller frees. */
char *server_name_clean(const char *text);

#endif
