/* SPDX-License-Identifier: Apache-2.0
 *
 * See runners.h. command.h has read the words; this module looks at files.
 */
#include "command/runners.h"

#include "grants/copy_in.h"
#include "lib/fd.h"

#include <stdlib.h>
#include <unistd.h>

enum { PROJECT_MAX = 1 << 20 };

struct reading {
        const struct command *command;
        const struct resolver *resolver;
        struct runner_needs *result;
};

/* ---- uv ---- */

static bool is_uv_project(const char *directory)
{
        return directory_has(directory, "pyproject.toml");
}

static bool holds_venv(const char *directory)
{
        return directory_has(directory, ".venv/pyvenv.cfg");
}

static bool is_uv_workspace(const char *directory)
{
        autofree char *file = path_join(directory, "pyproject.toml");
        autofree char *text = NULL;
        return fd_read_file(file, PROJECT_MAX, &text) >= 0 && strstr(text, "[tool.uv.workspace");
}

/* The directory whose .venv uv uses: the project, or the workspace around it; without a project the nearest
 * one upward; or NULL. */
static char *find_venv_holder(const struct reading *reading, const char *start, const char *project)
{
        if (!project)
                return directory_find_above(reading->resolver, start, holds_venv);
        if (holds_venv(project))
                return str_copy(project);
        autofree char *workspace = directory_find_above(reading->resolver, project, is_uv_workspace);
        return workspace && holds_venv(workspace) ? str_copy(workspace) : NULL;
}

/* Without a network, uv would try to reach the registry for a while before it uses what is installed. */
static void stay_offline(const struct reading *reading)
{
        if (!box_has_network(reading->resolver->box))
                str_list_add(&reading->result->environment, "UV_OFFLINE=1");
}

/* The directory in which `uv run` starts, and the one from which it looks for its project. The caller frees
 * both. */
static void find_start(const struct reading *reading, char **base, char **start)
{
        const struct command *command = reading->command;
        *base = path_join(reading->resolver->work, command->directory ? command->directory : ".");
        *start = path_join(*base, command->project ? command->project : ".");
}

/* True when uv would make an environment for the project, and hutch can make it in uv's place: it is not part
 * of a workspace, and no option asks for another environment. */
static bool is_unsynced(const struct reading *reading, const char *root, const char *holder)
{
        autofree char *workspace =
            root ? directory_find_above(reading->resolver, root, is_uv_workspace) : NULL;
        return root && !holder && !workspace && reading->command->plain;
}

/* True for a file beside the project; the host's file at a place of --file is another one. */
static bool is_script(const struct reading *reading, const char *path)
{
        bool is_sent = copy_in_lead_to(reading->resolver->box, path);
        return !is_sent && !reading->command->is_module && !directory_exists(path) && access(path, F_OK) == 0;
}

/* `uv [OPTIONS] run [OPTIONS] COMMAND` uses the project, or the workspace around it, and its .venv. */
static void read_uv_run(const struct reading *reading)
{
        const struct command *command = reading->command;
        struct runner_needs *result = reading->result;
        autofree char *base = NULL, *start = NULL;
        find_start(reading, &base, &start);
        autofree char *script =
            command->program ? path_join(base, command->words.values[command->program]) : NULL;
        if (script && is_script(reading, script))
                str_list_add(&result->programs, script);
        autofree char *root = directory_find_above(reading->resolver, start, is_uv_project);
        autofree char *holder = find_venv_holder(reading, start, root);
        if (root)
                str_list_add(&result->directories, root);
        else if ((command->directory || command->project) && directory_exists(start))
                str_list_add(&result->directories, start);
        stay_offline(reading);
        if (holder) {
                /* uv must not change the environment, because the project is read-only inside. */
                str_list_add(&result->environment, "UV_NO_SYNC=1");
                str_list_add(&result->directories, holder);
                str_list_take(&result->programs, path_join(holder, ".venv/bin/python"));
        } else if (root && !is_unsynced(reading, root, holder)) {
                str_list_take(&result->notes,
                              str_format("%s has no .venv, and uv cannot make one inside; run "
                                         "`uv sync` there first",
                                         root));
        }
}

/* The tool's name in `name` or `name[extra]`. NULL for a request with a version (`name@1.0`, `name==1.0`),
 * for which uv does not use the installed tool. */
static char *plain_tool_name(const char *request)
{
        size_t length = strcspn(request, "[");
        autofree char *name = str_copy_n(request, length);
        return str_is_file_name(name) && !strpbrk(request, "@=<>~!") ? str_copy(name) : NULL;
}

/* `uvx [OPTIONS] TOOL` uses a tool that `uv tool install` has installed. */
static void read_uvx(const struct reading *reading)
{
        const struct str_list *packages = &reading->command->packages;
        const char *request = packages->count > 0 ? packages->values[0] : NULL;
        autofree char *name = request ? plain_tool_name(request) : NULL;
        const char *directory = getenv("UV_TOOL_DIR"), *data = getenv("XDG_DATA_HOME");
        autofree char *tools = directory && directory[0] == '/' ? path_join("/", directory)
                               : data && data[0] == '/'
                                   ? path_join(data, "uv/tools")
                                   : path_join(reading->resolver->home, ".local/share/uv/tools");
        autofree char *installed = name ? path_join(tools, name) : NULL;
        if (!installed || !directory_is_venv(installed)) {
                reading->result->fetches = request != NULL;
                reading->result->missing = reading->result->fetches;
                return;
        }
        str_list_take(&reading->result->programs, path_join(installed, "bin/python"));
        stay_offline(reading);
        str_list_take(&reading->result->environment, str_format("UV_TOOL_DIR=%s", tools));
}

/* ---- npx ---- */

/* True for a local directory or archive, for which npm asks no registry (npm-install(1)). */
static bool is_local_package(const char *request)
{
        return request[0] == '.' || request[0] == '/' || str_starts(request, "file:");
}

/* The command `name`, or else the package, in `directory`/node_modules; NULL when it has neither. */
static char *find_in_modules(const struct resolver *resolver, const char *directory, const char *name)
{
        autofree char *modules = path_join(directory, "node_modules");
        autofree char *command = str_format("%s/.bin/%s", modules, name);
        autofree char *package = str_format("%s/%s/package.json", modules, name);
        if (!directory_is_own(resolver, modules))
                return NULL;
        if (!strchr(name, '/') && access(command, F_OK) == 0)
                return str_copy(command);
        return access(package, F_OK) == 0 ? str_copy(package) : NULL;
}

/* `npx [OPTIONS] NAME` and `npm exec NAME` use the nearest node_modules upward from the working directory
 * that has NAME. What is installed beside npm is granted with npm. */
static void read_npx(const struct reading *reading)
{
        const struct str_list *packages = &reading->command->packages;
        const char *request = packages->count > 0 ? packages->values[0] : NULL;
        autofree char *name = request ? command_package_name(COMMAND_NPX, request) : NULL;
        reading->result->fetches = reading->command->consents && !(request && is_local_package(request));
        if (!name || !command_is_npm_name(name))
                return;
        reading->result->missing = true;
        autofree char *directory = str_copy(reading->resolver->work);
        /* The search passes through the home, which hutch does not grant but nobody else writes. */
        while (directory[1] && (directory_is_own(reading->resolver, directory) ||
                                str_equal(directory, reading->resolver->home))) {
                char *found = find_in_modules(reading->resolver, directory, name);
                if (found) {
                        reading->result->fetches = false;
                        reading->result->missing = false;
                        str_list_take(&reading->result->programs, found);
                        /* npm looks upward too, and inside it sees only what is granted. */
                        if (!str_equal(directory, reading->resolver->work) &&
                            directory_has(directory, "package.json"))
                                str_list_add(&reading->result->directories, directory);
                        return;
                }
                if (directory_is_writable_grant(reading->resolver, directory))
                        break;
                char *parent = path_parent(directory);
                free(directory);
                directory = parent;
        }
}

/* ---- python -m ---- */

/* Python looks for the module in the working directory first. */
static void read_module(const struct reading *reading, const char *module)
{
        autofree char *name = str_copy_n(module, strcspn(module, "."));
        autofree char *directory = path_join(reading->resolver->work, name);
        autofree char *file = str_format("%s.py", directory);
        if (!str_is_file_name(name) || !directory_is_own(reading->resolver, reading->resolver->work) ||
            (!directory_exists(directory) && access(file, F_OK) < 0))
                return;
        str_list_add(&reading->result->directories, reading->resolver->work);
}

void runners_find_needs(const struct resolver *resolver, const struct command *command,
                        struct runner_needs *needs)
{
        const struct reading reading = {
            .command = command,
            .resolver = resolver,
            .result = needs,
        };
        switch (command->tool) {
        case COMMAND_NPX:
                read_npx(&reading);
                break;
        case COMMAND_UVX:
                read_uvx(&reading);
                break;
        case COMMAND_UV_RUN:
                read_uv_run(&reading);
                break;
        case COMMAND_BUNX:
        case COMMAND_PIPX_RUN:
                needs->fetches = true;
                break;
        case COMMAND_OTHER:
                if (command->module)
                        read_module(&reading, command->module);
                break;
        }
}

char *runners_find_unsynced(const struct resolver *resolver, const struct command *command)
{
        const struct reading reading = {.command = command, .resolver = resolver};
        autofree char *base = NULL, *start = NULL;
        if (command->tool != COMMAND_UV_RUN)
                return NULL;
        find_start(&reading, &base, &start);
        autofree char *root = directory_find_above(resolver, start, is_uv_project);
        autofree char *holder = find_venv_holder(&reading, start, root);
        return is_unsynced(&reading, root, holder) ? str_copy(root) : NULL;
}

void runners_free_needs(struct runner_needs *needs)
{
        str_list_free(&needs->programs);
        str_list_free(&needs->directories);
        str_list_free(&needs->environment);
        str_list_free(&needs->notes);
        *needs = (struct runner_needs){0};
}
