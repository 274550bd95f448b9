/* SPDX-License-Identifier: Apache-2.0
 *
 * The request of `uv run` in a project without an environment. Its one package is the real path of the
 * project's directory. The entry keeps a copy of the files that list the dependencies, outside what the fetch
 * sandbox may write; an entry whose copy differs from the project's files counts as missing.
 */
#ifndef HUTCH_PACKAGES_PROJECT_H
#define HUTCH_PACKAGES_PROJECT_H

#include "command/directories.h"
#include "packages/request.h"

/* Reads the request of `command` when it is `uv run` in such a project. False for any other command. */
bool package_project_request(const struct resolver *resolver, const struct command *command,
                             struct fetch_request *request);

/* The files of a project that uv reads to choose versions. */
enum { PACKAGE_PROJECT_LISTS = 3 };
extern const char *const package_project_lists[PACKAGE_PROJECT_LISTS];

/* Writes the copy of the lists into an unfinished entry. Returns 0, or a negative errno. */
int package_project_keep(int entry, const char *directory);

/* True when the lists are those of the entry. */
bool package_project_is_current(int entry, const char *directory);

/* Reads what the command asks for, of a registry or as such a project. Relative paths begin at the working
 * directory. The tool is FETCH_NONE where hutch can fetch nothing for it. */
void package_request_read(const struct str_list *words, struct fetch_request *request);

#endif
