/* SPDX-License-Identifier: Apache-2.0
 *
 * The request of `uv run` in a project without an environment. It is named by the project's directory and a
 * digest of the files that list its dependencies, so a changed list is another request.
 */
#ifndef HUTCH_PACKAGES_PROJECT_H
#define HUTCH_PACKAGES_PROJECT_H

#include "command/directories.h"
#include "packages/request.h"

/* Reads the request of `command` when it is `uv run` in such a project; relative paths begin at `work`. False
 * for any other command. */
bool package_project_request(const struct command *command, const struct directories *directories,
                             const char *work, struct fetch_request *request);

/* The directory of the project in such a request. The caller frees. */
char *package_project_directory(const struct fetch_request *request);

/* The files of a project that uv reads to choose versions. */
enum { PACKAGE_PROJECT_LISTS = 3 };
extern const char *const package_project_lists[PACKAGE_PROJECT_LISTS];

/* Reads what the command asks for, of a registry or as such a project. Relative paths begin at the working
 * directory. The tool is FETCH_NONE where hutch can fetch nothing for it. */
void package_request_read(const struct str_list *words, struct fetch_request *request);

#endif
