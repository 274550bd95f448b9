/* SPDX-License-Identifier: Apache-2.0
 *
 * See shims.h. A manager is known by the place and the look of its shim. The place also says where the
 * manager keeps its programs; the shim's text never does.
 */
#include "command/shims.h"

#include "command/mise.h"
#include "command/shim_choice.h"
#include "command/versions.h"
#include "command/volta.h"
#include "lib/fd.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum { SHIM_MAX = 16 * 1024 };

/* ---- pyenv ---- */

static bool follow_pyenv(const struct shim_choice *choice)
{
        static const struct version_file files[] = {{".python-version", versions_read_words}, {0}};
        __attribute__((cleanup(shim_choice_free_wanted))) struct wanted wanted = {0};
        autofree char *global = path_join(choice->root, "version");
        shim_choice_ask_variable("PYENV_VERSION", &wanted);
        if ((!wanted.versions && !shim_choice_ask_upward(choice, files, NULL, &wanted)) ||
            (!wanted.versions && !shim_choice_ask_file(choice, global, versions_read_words, NULL, &wanted)))
                return false;
        if (!wanted.versions)
                wanted = (struct wanted){str_copy("system"), str_copy("pyenv")};
        return shim_choice_take_version(choice, "versions", &wanted);
}

/* ---- asdf ---- */

/* *shared becomes true with `legacy_version_file = yes` in .asdfrc; without it, it stays false. */
static bool ask_asdf_shared(const struct shim_choice *choice, bool *shared)
{
        __attribute__((cleanup(shim_choice_free_wanted))) struct wanted setting = {0};
        const char *moved = getenv("ASDF_CONFIG_FILE");
        autofree char *file =
            moved && moved[0] == '/' ? str_copy(moved) : path_join(choice->resolver->home, ".asdfrc");
        bool read =
            shim_choice_ask_file(choice, file, versions_read_setting, "legacy_version_file", &setting);
        *shared = setting.versions && str_equal(setting.versions, "yes");
        return read;
}

/* Asks for each plugin that the shim lists: `# asdf-plugin: nodejs 20.1.0`. */
static bool follow_asdf(const struct shim_choice *choice, char *text)
{
        static const struct version_file files[] = {{".tool-versions", versions_read_lines}, {0}};
        static const char mark[] = "# asdf-plugin: ";
        char *rest = NULL;
        for (char *line = strtok_r(text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
                if (!str_starts(line, mark))
                        continue;
                char *plugin = line + strlen(mark);
                plugin[strcspn(plugin, " \t")] = 0;
                if (!str_is_file_name(plugin))
                        continue;
                __attribute__((cleanup(shim_choice_free_wanted))) struct wanted wanted = {0};
                autofree char *variable = shim_choice_variable_name("ASDF", plugin);
                autofree char *home_file = path_join(choice->resolver->home, ".tool-versions");
                autofree char *installs = str_format("installs/%s", plugin);
                shim_choice_ask_variable(variable, &wanted);
                bool shared = false;
                if (!ask_asdf_shared(choice, &shared) ||
                    (!wanted.versions &&
                     !shim_choice_ask_upward_shared(choice, files, shared, plugin, &wanted)) ||
                    (!wanted.versions &&
                     !shim_choice_ask_file(choice, home_file, versions_read_lines, plugin, &wanted)))
                        return false;
                if (wanted.versions)
                        return shim_choice_take_version(choice, installs, &wanted);
        }
        return shim_choice_no_version(choice);
}

/* ---- which manager ---- */

static bool refuse_snap(const struct shim_choice *choice)
{
        return error_set(
            choice->resolver->error, EXIT_NOT_EXECUTABLE,
            "%s belongs to snap, whose programs run only through snapd's own set-uid sandbox and "
            "cannot run in this one; install %s from the distribution's packages or a version "
            "manager, and use that one",
            error_shown(choice->path), error_shown(choice->name));
}

/* The shims of Volta, mise and snap are links to one program. */
static bool follow_link(struct shim_choice *choice, const char *directory, const char *text)
{
        autofree char *target = path_join("/", text);
        if (str_equal(text, "/usr/bin/snap"))
                return refuse_snap(choice);
        if (directory_path_has_name(target, "volta-shim") && directory_path_has_name(directory, "bin")) {
                choice->manager = "Volta";
                return volta_follow(choice);
        }
        if (directory_path_has_name(target, "mise") && directory_path_has_name(directory, "shims")) {
                choice->manager = "mise";
                return mise_follow(choice);
        }
        return true;
}

/* The shims of pyenv and asdf are scripts. */
static bool follow_script(struct shim_choice *choice)
{
        autofree char *text = NULL;
        if (fd_read_file(choice->path, SHIM_MAX, &text) < 0 || !str_starts(text, "#!"))
                return true;
        if (strstr(text, "\n# asdf-plugin: ")) {
                choice->manager = "asdf";
                return follow_asdf(choice, text);
        }
        if (strstr(text, "/pyenv\" exec ")) {
                choice->manager = "pyenv";
                return follow_pyenv(choice);
        }
        return true;
}

bool shims_follow(const char *path, const struct resolver *resolver, struct shim *shim)
{
        autofree char *directory = path_parent(path);
        autofree char *root = path_parent(directory);
        const struct walked *walked = path_walk(resolver_walker(resolver), path);
        bool is_link = walked->links.count && str_equal(walked->links.values[0], path);
        struct shim_choice choice = {
            .resolver = resolver,
            .manager = "snap",
            .path = path,
            .name = strrchr(path, '/') + 1,
            .root = root,
            .shim = shim,
        };
        *shim = (struct shim){0};
        /* What the command may have written says nothing about the user's programs. */
        if (directory_may_be_written(resolver, path))
                return true;
        if (is_link)
                return follow_link(&choice, directory, walked->texts.values[0]);
        if (!directory_path_has_name(directory, "shims") || directory_content_may_be_written(resolver, path))
                return true;
        return follow_script(&choice);
}
