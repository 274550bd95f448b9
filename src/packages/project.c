/* SPDX-License-Identifier: Apache-2.0
 *
 * See project.h.
 */
#include "packages/project.h"

#include "command/runners.h"
#include "lib/fd.h"
#include "lib/homes.h"
#include "lib/sha512.h"

#include <stdlib.h>

enum {
        FILE_MAX = 16 << 20,
        DIGEST_DIGITS = 16, /* enough to tell the states of one project apart */
};

const char *const package_project_lists[PACKAGE_PROJECT_LISTS] = {"pyproject.toml", "uv.lock",
                                                                  ".python-version"};

static void digest_lists(const char *directory, char digest[SHA512_HEX])
{
        uint8_t bytes[SHA512_BYTES];
        struct sha512 hash;
        sha512_begin(&hash);
        for (size_t i = 0; i < PACKAGE_PROJECT_LISTS; i++) {
                autofree char *path = path_join(directory, package_project_lists[i]);
                autofree char *text = NULL;
                ssize_t length = fd_read_file(path, FILE_MAX, &text);
                autofree char *head = str_format("%s %zd\n", package_project_lists[i], length);
                sha512_add(&hash, head, strlen(head));
                if (length > 0)
                        sha512_add(&hash, text, (size_t)length);
        }
        sha512_end(&hash, bytes);
        sha512_hex(bytes, digest);
}

bool package_project_request(const struct command *command, const struct directories *directories,
                             const char *work, struct fetch_request *request)
{
        autofree char *spelled = runners_find_unsynced(command, directories, work);
        autofree char *directory = spelled ? realpath(spelled, NULL) : NULL;
        char digest[SHA512_HEX];
        *request = (struct fetch_request){0};
        if (!directory)
                return false;
        digest_lists(directory, digest);
        request->tool = FETCH_UV_PROJECT;
        request->consents = true;
        str_list_take(&request->packages, str_format("%s#%.*s", directory, DIGEST_DIGITS, digest));
        return true;
}

char *package_project_directory(const struct fetch_request *request)
{
        const char *package = request->packages.values[0];
        return str_copy_n(package, (size_t)(strrchr(package, '#') - package));
}

void package_request_read(const struct str_list *words, struct fetch_request *request)
{
        autofree char *home = realpath(caller_homes()->spelled, NULL);
        autofree char *work = getcwd(NULL, 0);
        const struct directories directories = {.real_home = home ? home : ""};
        struct command command;
        command_read(words, &command);
        fetch_request_read(&command, request);
        if (request->tool == FETCH_NONE && work)
                (void)package_project_request(&command, &directories, work, request);
        command_free(&command);
}
