/* SPDX-License-Identifier: Apache-2.0
 *
 * See request.h.
 */
#include "packages/request.h"

#include "lib/fd.h"
#include "lib/hex.h"

#include <stdlib.h>

enum { FILE_NAME_LONGEST = 240 }; /* with the prefix and suffix of the store below the 255 of file systems */

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@._+-";
static const char npm_version[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-^~<>=*";
static const char uv_version[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@._+-[],<>=~!*";

static bool is_npm_package(const char *package)
{
        autofree char *name = command_package_name(COMMAND_NPX, package);
        const char *version = package + strlen(name);
        if (!command_is_npm_name(name))
                return false;
        return !*version || (version[1] && strspn(version + 1, npm_version) == strlen(version + 1));
}

static bool is_uv_package(const char *package)
{
        autofree char *name = command_package_name(COMMAND_UVX, package);
        return str_is_file_name(name) && strspn(package, uv_version) == strlen(package);
}

static int compare_texts(const void *a, const void *b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

void fetch_request_read(const struct command *command, struct fetch_request *request)
{
        const struct str_list *packages = &command->packages;
        bool uv = command->tool == COMMAND_UVX;
        bool known = (uv || command->tool == COMMAND_NPX) && !command->elsewhere && packages->count > 0 &&
                     (!command->python || str_is_file_name(command->python));
        *request = (struct fetch_request){0};
        for (size_t i = 0; known && i < packages->count; i++)
                known = uv ? is_uv_package(packages->values[i]) : is_npm_package(packages->values[i]);
        if (!known)
                return;
        request->tool = uv ? FETCH_UV : FETCH_NPM;
        request->consents = command->consents;
        str_list_add_all(&request->packages, packages);
        if (command->python)
                str_list_take(&request->packages, str_format("--python=%s", command->python));
        /* npm ignores the order of its packages and keeps them under a hash of the sorted list. uv's first
         * one is the tool's. */
        size_t first = uv ? 1 : 0;
        if (request->packages.count > first + 1)
                qsort(request->packages.values + first, request->packages.count - first,
                      sizeof(*request->packages.values), compare_texts);
}

void fetch_request_free(struct fetch_request *request)
{
        str_list_free(&request->packages);
        *request = (struct fetch_request){0};
}

char *fetch_request_name(const struct fetch_request *request)
{
        /* no package has a blank in its name */
        autofree char *packages = str_join(&request->packages, " ");
        return str_format("%s:%s", request->tool == FETCH_NPM ? "npm" : "uv", packages);
}

char *fetch_name_encode(const char *name)
{
        if (!str_starts(name, "npm:") && !str_starts(name, "uv:"))
                return NULL;
        size_t length = 0;
        char file[FILE_NAME_LONGEST + 4];
        for (const char *c = name; *c; c++) {
                if (length > FILE_NAME_LONGEST - 3)
                        return NULL;
                if (strchr(plain, *c)) {
                        file[length++] = *c;
                        continue;
                }
                file[length] = '%';
                hex_write(file + length + 1, c, 1);
                length += 3;
        }
        return str_copy_n(file, length);
}

char *fetch_name_decode(const char *file)
{
        autofree char *name = str_copy(file);
        char *to = name;
        for (const char *from = file; *from; from++) {
                uint8_t byte = (uint8_t)*from;
                if (*from == '%' && (!hex_read(from + 1, &byte, 1) || byte == 0))
                        return NULL;
                from += *from == '%' ? 2 : 0;
                *to++ = (char)byte;
        }
        *to = 0;
        autofree char *again = fetch_name_encode(name);
        return again && str_equal(again, file) ? str_copy(name) : NULL;
}

char *fetch_line(const struct str_list *command)
{
        char *line = str_copy("hutch fetch --");
        for (size_t i = 0; i < command->count; i++) {
                const char *word = command->values[i];
                bool bare =
                    word[0] &&
                    strspn(word,
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@._+-/:=,%") ==
                        strlen(word);
                bool quotable = !strchr(word, '\'');
                str_append(&line, bare ? " %s" : quotable ? " '%s'" : " \"%s\"", word);
        }
        return line;
}
