/* SPDX-License-Identifier: Apache-2.0
 *
 * See server_name.h. The words of a command may be anything, such as a line end or 100,000 bytes. The result
 * is a short name that harms neither a terminal nor a path. The functions test whether a few files exist and
 * read none.
 */
#include "command/server_name.h"

#include "command/command.h"
#include "lib/fd.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { LEVELS_MAX = 6 }; /* from a script up to the root of its package */

static bool is_plain(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               (c && strchr("._+@-", c));
}

char *server_name_clean(const char *text)
{
        size_t length = strnlen(text, SERVER_NAME_MAX);
        char *name = length > 0 ? str_copy_n(text, length) : str_copy("_");
        const char *scope_end = name[0] == '@' ? strchr(name, '/') : NULL;
        for (char *c = name; *c; c++)
                if (!is_plain(*c) && c != scope_end)
                        *c = '_';
        if (name[0] == '.' || name[0] == '-')
                name[0] = '_';
        return name;
}

/* The last component of a path, which may end in slashes. The caller frees. */
static char *last_component(const char *path)
{
        size_t end = strlen(path);
        while (end > 1 && path[end - 1] == '/')
                end--;
        size_t begin = end;
        while (begin > 0 && path[begin - 1] != '/')
                begin--;
        return str_copy_n(path + begin, end - begin);
}

/* A file's name without the ending of a program or of a repository's address. */
static char *name_of_file(const char *path)
{
        static const char endings[] = ".js .mjs .cjs .ts .py .pyz .jar .rb .pl .sh .git";
        autofree char *name = last_component(path);
        char *dot = strrchr(name, '.');
        if (dot && dot != name && str_words_have(endings, dot, strlen(dot)))
                *dot = 0;
        return server_name_clean(name);
}

/* `name` or `@scope/name` after the last node_modules of a path, or NULL. */
static char *name_in_modules(const char *path)
{
        static const char modules[] = "/node_modules/";
        const char *package = NULL;
        for (const char *next = strstr(path, modules); next; next = strstr(package, modules))
                package = next + sizeof(modules) - 2; /* this one's last slash may be the next one's first */
        if (!package || package[1] == '.')
                return NULL;
        size_t length = strcspn(package + 1, "/");
        if (package[1] == '@' && package[1 + length])
                length += 1 + strcspn(package + 1 + length + 1, "/");
        autofree char *name = str_copy_n(package + 1, length);
        return server_name_clean(name);
}

/* The name of the nearest directory upward that is a package, or NULL. A home, and any directory as near to
 * the root, does not count. */
static char *name_of_package(const char *script)
{
        static const char *const marks[] = {"package.json", "pyproject.toml", "setup.py", "deno.json"};
        autofree char *directory = path_parent(script);
        for (unsigned level = 0; level < LEVELS_MAX && path_depth(directory) > 2; level++) {
                for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
                        autofree char *file = path_join(directory, marks[i]);
                        if (access(file, F_OK) == 0) {
                                autofree char *name = last_component(directory);
                                return server_name_clean(name);
                        }
                }
                char *parent = path_parent(directory);
                free(directory);
                directory = parent;
        }
        return NULL;
}

static bool is_one_of(const char *names, const char *name)
{
        return str_words_have(names, name, strlen(name));
}

/* The script's name; where that is a common one (index.js), the name of the nearest directory that is not
 * common in turn. A directory as near to the root as a home does not count. */
static char *name_of_single(const char *script)
{
        static const char scripts[] =
            "index main server app cli run start mcp mcp_server mcp-server __main__";
        static const char directories[] = "build dist out lib src bin app server Documents Downloads Desktop";
        autofree char *file = name_of_file(script);
        autofree char *directory = path_parent(script);
        while (is_one_of(scripts, file) && path_depth(directory) > 2) {
                autofree char *name = last_component(directory);
                if (!is_one_of(directories, name))
                        return server_name_clean(name);
                char *parent = path_parent(directory);
                free(directory);
                directory = parent;
        }
        char *name = file;
        file = NULL;
        return name;
}

static char *name_of_script(const char *script)
{
        char *name = name_in_modules(script);
        if (!name)
                name = name_of_package(script);
        return name ? name : name_of_single(script);
}

static char *name_of_command(const struct command *command, const char *work)
{
        const char *program = command->program ? command->words.values[command->program] : NULL;
        if (command->tool == COMMAND_UV_RUN) {
                const char *project = command->directory ? command->directory : command->project;
                autofree char *path =
                    project || program ? path_join(work, project ? project : program) : NULL;
                if (path)
                        return name_of_file(path);
        } else if (command->packages.count > 0) {
                autofree char *package = command_package_name(command->tool, command->packages.values[0]);
                /* The package may be a repository's address. */
                return package[0] == '@' ? server_name_clean(package) : name_of_file(package);
        } else if (command->tool == COMMAND_OTHER && program) {
                autofree char *script = path_join(work, program);
                return name_of_script(script);
        } else if (command->module) {
                return server_name_clean(command->module);
        }
        autofree char *name = last_component(command->words.values[0]);
        return server_name_clean(name);
}

char *server_name(const struct str_list *words, const char *work)
{
        struct command command;
        command_read(words, &command);
        char *name = name_of_command(&command, work);
        command_free(&command);
        return name;
}
