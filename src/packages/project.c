/* SPDX-License-Identifier: Apache-2.0
 *
 * See project.h.
 */
#include "packages/project.h"

#include "command/runners.h"
#include "lib/buf.h"
#include "lib/fd.h"
#include "lib/homes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#define KEPT_NAME "lists"

enum { FILE_MAX = 16 << 20, KEPT_MAX = PACKAGE_PROJECT_LISTS * (FILE_MAX + 64) };

const char *const package_project_lists[PACKAGE_PROJECT_LISTS] = {"pyproject.toml", "uv.lock",
                                                                  ".python-version"};

/* The lists in one text: the name, the length (or the error) and the content of each. The caller frees. */
static struct buf read_lists(const char *directory)
{
        struct buf all = {0};
        for (size_t i = 0; i < PACKAGE_PROJECT_LISTS; i++) {
                autofree char *path = path_join(directory, package_project_lists[i]);
                autofree char *text = NULL;
                ssize_t found = fd_read_file(path, FILE_MAX, &text);
                buf_format(&all, "%s %zd\n", package_project_lists[i], found);
                buf_put(&all, text, found > 0 ? (size_t)found : 0);
        }
        return all;
}

int package_project_keep(int entry, const char *directory)
{
        autobuf lists = read_lists(directory);
        autoclose int file =
            openat(entry, KEPT_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        return file < 0 ? -errno : fd_write_all(file, lists.bytes, lists.length);
}

bool package_project_is_current(int entry, const char *directory)
{
        autobuf lists = read_lists(directory);
        autofree char *kept = NULL;
        autoclose int file = openat(entry, KEPT_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        ssize_t found = file < 0 ? -errno : fd_read_all(file, KEPT_MAX, &kept);
        return kept && (size_t)found == lists.length && memcmp(kept, lists.bytes, lists.length) == 0;
}

bool package_project_request(const struct resolver *resolver, const struct command *command,
                             struct fetch_request *request)
{
        autofree char *spelled = runners_find_unsynced(resolver, command);
        const char *directory = spelled ? path_walk_real(resolver_walker(resolver), spelled) : NULL;
        *request = (struct fetch_request){0};
        if (!directory)
                return false;
        request->tool = FETCH_UV_PROJECT;
        request->consents = true;
        str_list_add(&request->packages, directory);
        return true;
}

void package_request_read(const struct str_list *words, struct fetch_request *request)
{
        autofree char *work = getcwd(NULL, 0);
        struct box box = {0};
        struct held_sources held = {0};
        const struct resolver resolver = {
            .work = work, .home = caller_homes()->spelled, .box = &box, .held = &held};
        struct command command;
        command_read(words, &command);
        fetch_request_read(&command, request);
        if (request->tool == FETCH_NONE && work)
                (void)package_project_request(&resolver, &command, request);
        command_free(&command);
        held_sources_release(&held);
}
