/* SPDX-License-Identifier: Apache-2.0
 *
 * See mise.h.
 */
#include "command/mise.h"

#include "command/search.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <glob.h>
#include <stdlib.h>

/* In mise's order within one directory. */
static const struct version_file mise_files[] = {
    {"mise.local.toml", versions_read_toml},   {".mise.local.toml", versions_read_toml},
    {"mise.toml", versions_read_toml},         {".mise.toml", versions_read_toml},
    {"mise/config.toml", versions_read_toml},  {".mise/config.toml", versions_read_toml},
    {".config/mise.toml", versions_read_toml}, {".config/mise/config.toml", versions_read_toml},
    {".tool-versions", versions_read_lines},   {0},
};

/* *shared becomes true when the setting `idiomatic_version_file_enable_tools` lists `tool`; by default it
 * lists none. */
static bool ask_shared(const struct shim_choice *choice, const char *global, const char *tool, bool *shared)
{
        static const char variable[] = "MISE_IDIOMATIC_VERSION_FILE_ENABLE_TOOLS";
        __attribute__((cleanup(shim_choice_free_wanted))) struct wanted setting = {0};
        shim_choice_ask_variable(variable, &setting);
        if (!setting.versions && !shim_choice_ask_file(choice, global, versions_read_toml_setting,
                                                       "idiomatic_version_file_enable_tools", &setting))
                return false;
        char *rest = NULL;
        for (char *word = setting.versions ? strtok_r(setting.versions, " ,", &rest) : NULL; word;
             word = strtok_r(NULL, " ,", &rest))
                *shared |= str_equal(word, tool);
        return true;
}

/* Asks for the version of `tool`, also under asdf's name for it. */
static bool ask_tool(const struct shim_choice *choice, const char *tool, struct wanted *wanted)
{
        static const char *const other_names[][2] = {{"node", "nodejs"}, {"go", "golang"}};
        const char *configuration = getenv("XDG_CONFIG_HOME");
        autofree char *global = configuration && configuration[0] == '/'
                                    ? path_join(configuration, "mise/config.toml")
                                    : path_join(choice->resolver->home, ".config/mise/config.toml");
        autofree char *variable = shim_choice_variable_name("MISE", tool);
        bool shared = false;
        shim_choice_ask_variable(variable, wanted);
        if (!ask_shared(choice, global, tool, &shared) ||
            (!wanted->versions && !shim_choice_ask_upward_shared(choice, mise_files, shared, tool, wanted)))
                return false;
        for (size_t i = 0; i < sizeof(other_names) / sizeof(*other_names) && !wanted->versions; i++)
                if (str_equal(tool, other_names[i][0]) &&
                    !shim_choice_ask_upward(choice, mise_files, other_names[i][1], wanted))
                        return false;
        return wanted->versions || shim_choice_ask_file(choice, global, versions_read_toml, tool, wanted);
}

/* Wants the only installed version of a tool, or the one that `latest` links to. */
static void take_only_version(const struct shim_choice *choice, const char *tool, struct wanted *wanted)
{
        autofree char *directory = str_format("%s/installs/%s", choice->root, tool);
        autofree char *latest = path_join(directory, "latest");
        autofree char *escaped = search_escape(directory);
        autofree char *pattern = str_format("%s/*", escaped);
        glob_t versions = {0};
        glob(pattern, 0, NULL, &versions);
        if (directory_exists(latest))
                wanted->versions = str_copy("latest");
        else if (versions.gl_pathc == 1)
                wanted->versions = str_copy(strrchr(versions.gl_pathv[0], '/') + 1);
        if (wanted->versions)
                wanted->source = str_copy(directory);
        globfree(&versions);
}

/* Lists the tools that have a program of this name: installs/TOOL/VERSION/bin/NAME. */
static void list_tools(const struct shim_choice *choice, struct str_list *tools)
{
        autofree char *root = search_escape(choice->root);
        autofree char *name = search_escape(choice->name);
        autofree char *pattern = str_format("%s/installs/*/*/bin/%s", root, name);
        size_t front = strlen(choice->root) + strlen("/installs/");
        glob_t matches = {0};
        glob(pattern, 0, NULL, &matches);
        for (size_t i = 0; i < matches.gl_pathc; i++) {
                const char *tool = matches.gl_pathv[i] + front;
                autofree char *copy = str_copy_n(tool, strcspn(tool, "/"));
                if (str_is_file_name(copy) && !str_list_has(tools, copy))
                        str_list_add(tools, copy);
        }
        globfree(&matches);
}

static bool follow_tools(const struct shim_choice *choice, const struct str_list *tools)
{
        for (size_t i = 0; i < tools->count; i++) {
                __attribute__((cleanup(shim_choice_free_wanted))) struct wanted wanted = {0};
                if (!ask_tool(choice, tools->values[i], &wanted))
                        return false;
                if (!wanted.versions && tools->count == 1)
                        take_only_version(choice, tools->values[i], &wanted);
                autofree char *directory = str_format("installs/%s", tools->values[i]);
                if (wanted.versions)
                        return shim_choice_take_version(choice, directory, &wanted);
        }
        return shim_choice_no_version(choice);
}

bool mise_follow(const struct shim_choice *choice)
{
        struct str_list tools = {0};
        list_tools(choice, &tools);
        bool found = follow_tools(choice, &tools);
        str_list_free(&tools);
        return found;
}
