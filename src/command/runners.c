/* SPDX-License-Identifier: Apache-2.0
 *
 * See runners.h. Each command has a function that reads its words. A table lists the options that take the
 * next word as their value; any other word that starts with a dash is an option alone.
 */
#include "command/runners.h"

#include "command/interpreters.h"
#include "grants/copy_in.h"
#include "lib/fd.h"

#include <stdlib.h>
#include <unistd.h>

enum { PROJECT_MAX = 1 << 20 };

struct reading {
        const struct str_list *command;
        const struct resolver *resolver;
        struct runner_needs *result;
};

static const char *const uv_value_words =
    "--directory --project --color --config-file --cache-dir --allow-insecure-host -p --python "
    "--python-preference --with --with-editable --with-requirements --extra --no-extra --group --no-group "
    "--only-group --env-file --index --default-index -i --index-url --extra-index-url -f --find-links "
    "--index-strategy --keyring-provider -P --upgrade-package --resolution --prerelease --fork-strategy "
    "--exclude-newer --link-mode -C --config-setting --no-build-package --no-binary-package "
    "--refresh-package --reinstall-package --package --from -c --constraints -b --build-constraints "
    "--overrides -w --no-editable-package --python-platform --torch-backend";

static const char *const npm_value_words = "-p --package -c --call -w --workspace --prefix --userconfig "
                                           "--globalconfig --cache --registry --script-shell --loglevel";

/* The value of the option `name` at `index`, in the next word or after `=`; NULL when the word is another
 * one. */
static const char *option_value(const struct reading *reading, size_t index, const char *name)
{
        const char *word = reading->command->values[index];
        size_t length = strlen(name);
        /* `index` is below the count of words. NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
        if (strncmp(word, name, length) != 0)
                return NULL;
        if (word[length] == '=')
                return word + length + 1;
        return word[length] ? NULL : reading->command->values[index + 1]; /* NULL after the last word */
}

/* The index of the first word from `index` on that is neither an option nor an option's value, or the count.
 */
static size_t skip_options(const struct reading *reading, size_t index, const char *value_words)
{
        const struct str_list *command = reading->command;
        for (; index < command->count && command->values[index][0] == '-'; index++) {
                const char *word = command->values[index];
                if (str_equal(word, "--"))
                        return index + 1;
                index += str_words_have(value_words, word, strlen(word));
        }
        return index < command->count ? index : command->count;
}

/* The value of the last option `name` among the words from `start` up to `end`, which is not included. */
static const char *find_value(const struct reading *reading, size_t start, size_t end, const char *name)
{
        const char *found = NULL;
        for (size_t i = start; i < end; i++) {
                const char *value = option_value(reading, i, name);
                found = value ? value : found;
        }
        return found;
}

static bool has_option(const struct reading *reading, size_t start, size_t end, const char *one,
                       const char *other)
{
        for (size_t i = start; i < end; i++)
                if (str_equal(reading->command->values[i], one) ||
                    str_equal(reading->command->values[i], other))
                        return true;
        return false;
}

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
static void find_start(const struct reading *reading, size_t program, char **base, char **start)
{
        const char *directory = find_value(reading, 1, program, "--directory");
        const char *project = find_value(reading, 1, program, "--project");
        *base = path_join(reading->resolver->work, directory ? directory : ".");
        *start = path_join(*base, project ? project : ".");
}

/* True when no option of `uv run`, at the index `run`, asks for another environment than the project's own.
 */
static bool is_plain_run(const struct reading *reading, size_t run, size_t program)
{
        for (size_t i = 1; i < program; i++) {
                const char *word = reading->command->values[i];
                bool directory =
                    option_value(reading, i, "--directory") || option_value(reading, i, "--project");
                if (directory)
                        i += !strchr(word, '=');
                else if (i != run && !str_words_have("-q --quiet --frozen --locked --offline -m --module --",
                                                     word, strlen(word)))
                        return false;
        }
        return true;
}

static char *find_unsynced(const struct reading *reading, size_t run)
{
        size_t program = skip_options(reading, run + 1, uv_value_words);
        autofree char *base = NULL, *start = NULL;
        find_start(reading, program, &base, &start);
        autofree char *root = directory_find_above(reading->resolver, start, is_uv_project);
        autofree char *holder = find_venv_holder(reading, start, root);
        autofree char *workspace =
            root ? directory_find_above(reading->resolver, root, is_uv_workspace) : NULL;
        return root && !holder && !workspace && is_plain_run(reading, run, program) ? str_copy(root) : NULL;
}

/* `uv [OPTIONS] run [OPTIONS] COMMAND` uses the project, or the workspace around it, and its .venv. */
static void read_uv_run(const struct reading *reading, size_t run)
{
        size_t program = skip_options(reading, run + 1, uv_value_words);
        autofree char *base = NULL, *start = NULL;
        find_start(reading, program, &base, &start);
        bool named =
            find_value(reading, 1, program, "--directory") || find_value(reading, 1, program, "--project");
        struct runner_needs *result = reading->result;

        if (program < reading->command->count) {
                autofree char *script = path_join(base, reading->command->values[program]);
                bool is_sent = copy_in_lead_to(reading->resolver->box, script);
                bool is_script = !is_sent && !has_option(reading, run, program, "-m", "--module") &&
                                 !directory_exists(script) && access(script, F_OK) == 0;
                if (is_script)
                        str_list_add(&result->programs, script);
        }
        autofree char *root = directory_find_above(reading->resolver, start, is_uv_project);
        autofree char *holder = find_venv_holder(reading, start, root);
        if (root)
                str_list_add(&result->directories, root);
        else if (named && directory_exists(start))
                str_list_add(&result->directories, start);
        stay_offline(reading);
        if (holder) {
                /* uv must not change the environment, because the project is read-only inside. */
                str_list_add(&result->environment, "UV_NO_SYNC=1");
                str_list_add(&result->directories, holder);
                str_list_take(&result->programs, path_join(holder, ".venv/bin/python"));
        } else if (root) {
                autofree char *fetched = find_unsynced(reading, run);
                if (!fetched)
                        str_list_take(&result->notes, str_format("%s has no .venv, and uv cannot make one "
                                                                 "inside; run `uv sync` there first",
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

/* The request in `uvx [OPTIONS] TOOL`, as written; NULL when there is no word. */
static const char *uvx_request(const struct reading *reading, size_t options)
{
        size_t tool = skip_options(reading, options, uv_value_words);
        const char *from = find_value(reading, options, tool, "--from");
        if (from)
                return from;
        return tool < reading->command->count ? reading->command->values[tool] : NULL;
}

/* `uvx [OPTIONS] TOOL` uses a tool that `uv tool install` has installed. */
static void read_uvx(const struct reading *reading, size_t options)
{
        const char *request = uvx_request(reading, options);
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

/* The index of `run` in `uv [OPTIONS] run` or, with *tool set, `uv tool run`; 0 when it is neither. */
static size_t find_uv_run(const struct reading *reading, bool *tool)
{
        const struct str_list *command = reading->command;
        size_t index = skip_options(reading, 1, uv_value_words);
        *tool = index < command->count && str_equal(command->values[index], "tool");
        if (*tool)
                index = skip_options(reading, index + 1, uv_value_words);
        return index < command->count && str_equal(command->values[index], "run") ? index : 0;
}

static void read_uv(const struct reading *reading)
{
        bool tool;
        size_t run = find_uv_run(reading, &tool);
        if (run && tool)
                read_uvx(reading, run + 1);
        else if (run)
                read_uv_run(reading, run);
}

/* ---- npx ---- */

/* `@scope/name@1.0` without its version. The caller frees. */
static char *package_name(const char *request)
{
        const char *at = strchr(request + (request[0] == '@'), '@');
        return str_copy_n(request, at ? (size_t)(at - request) : strlen(request));
}

/* True for a local directory or archive, for which npm asks no registry (npm-install(1)). */
static bool is_local_package(const char *request)
{
        return request[0] == '.' || request[0] == '/' || str_starts(request, "file:");
}

/* True for a name that is safe as one or two components of a path. */
static bool is_package_name(const char *name)
{
        const char *slash = name[0] == '@' ? strchr(name, '/') : NULL;
        autofree char *scope = slash ? str_copy_n(name + 1, (size_t)(slash - name) - 1) : str_copy("x");
        return str_is_file_name(scope) && str_is_file_name(slash ? slash + 1 : name);
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

/* The request in `npx [OPTIONS] NAME`, as written; NULL when there is no word. */
static const char *npx_request(const struct reading *reading, size_t options)
{
        size_t index = skip_options(reading, options, npm_value_words);
        const char *package = find_value(reading, options, index, "--package");
        if (!package)
                package = find_value(reading, options, index, "-p");
        if (package)
                return package;
        return index < reading->command->count ? reading->command->values[index] : NULL;
}

/* `npx [OPTIONS] NAME` and `npm exec NAME` use the nearest node_modules upward from the working directory
 * that has NAME. What is installed beside npm is granted with npm. */
static void read_npx(const struct reading *reading, size_t options)
{
        size_t index = skip_options(reading, options, npm_value_words);
        const char *request = npx_request(reading, options);
        autofree char *name = request ? package_name(request) : NULL;
        reading->result->fetches =
            has_option(reading, options, index, "-y", "--yes") && !(request && is_local_package(request));
        if (!name || !is_package_name(name))
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
        char *root = directory_find_root(reading->resolver, reading->resolver->work);
        str_list_take(&reading->result->directories, root ? root : str_copy(reading->resolver->work));
}

/* True for commands that always download what they run. */
static bool is_download(const char *name, const char *subcommand)
{
        static const char *const commands[][2] = {{"bunx", NULL},  {"bun", "x"},    {"pnpx", NULL},
                                                  {"pnpm", "dlx"}, {"yarn", "dlx"}, {"pipx", "run"}};
        for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
                if (str_equal(name, commands[i][0]) &&
                    (!commands[i][1] || str_equal(subcommand, commands[i][1])))
                        return true;
        return false;
}

void runners_find_needs(const struct resolver *resolver, struct runner_needs *needs)
{
        const struct str_list *command = &resolver->box->argv;
        const struct reading reading = {
            .command = &resolver->box->argv, .resolver = resolver, .result = needs};
        const char *name = path_base(command->values[0]);
        const char *module = interpreter_module(command);
        if (str_equal(name, "uv"))
                read_uv(&reading);
        else if (str_equal(name, "uvx"))
                read_uvx(&reading, 1);
        else if (str_equal(name, "npx"))
                read_npx(&reading, 1);
        else if (str_equal(name, "npm") && command->count > 1 &&
                 (str_equal(command->values[1], "exec") || str_equal(command->values[1], "x")))
                read_npx(&reading, 2);
        else if (module)
                read_module(&reading, module);
        needs->fetches |= is_download(name, command->count > 1 ? command->values[1] : "");
}

/* ---- requests ---- */

/* Adds the value of every option `name` among the words from `start` up to `end`, which is not included. */
static void list_values(const struct reading *reading, size_t start, size_t end, const char *name,
                        struct str_list *values)
{
        for (size_t i = start; i < end; i++) {
                const char *value = option_value(reading, i, name);
                if (value)
                        str_list_add(values, value);
        }
}

/* True when one of these words is an option in `names`, which has blanks between them. */
static bool has_any(const struct reading *reading, size_t start, size_t end, const char *names)
{
        for (size_t i = start; i < end; i++) {
                const char *word = reading->command->values[i];
                if (str_words_have(names, word, strcspn(word, "=")))
                        return true;
        }
        return false;
}

static bool read_npx_request(const struct reading *reading, size_t options, struct runner_request *request)
{
        size_t index = skip_options(reading, options, npm_value_words);
        list_values(reading, options, index, "--package", &request->packages);
        list_values(reading, options, index, "-p", &request->packages);
        if (request->packages.count == 0 && index < reading->command->count)
                str_list_add(&request->packages, reading->command->values[index]);
        request->consents = has_option(reading, options, index, "-y", "--yes");
        return !has_any(reading, options, index, "--registry --userconfig --globalconfig --cache --prefix");
}

static bool read_uvx_request(const struct reading *reading, size_t options, struct runner_request *request)
{
        size_t tool = skip_options(reading, options, uv_value_words);
        const char *name = uvx_request(reading, options);
        const char *python = find_value(reading, options, tool, "--python");
        if (!python)
                python = find_value(reading, options, tool, "-p");
        if (name)
                str_list_add(&request->packages, name);
        list_values(reading, options, tool, "--with", &request->packages);
        list_values(reading, options, tool, "-w", &request->packages);
        if (python)
                str_list_take(&request->packages, str_format("--python=%s", python));
        request->consents = true;
        return !has_any(reading, options, tool,
                        "--index --default-index -i --index-url --extra-index-url -f --find-links --no-index "
                        "--cache-dir --no-cache -n --config-file --with-editable --with-requirements "
                        "-c --constraints -b --build-constraints --overrides --directory --project");
}

bool runners_read_request(const struct str_list *command, struct runner_request *request)
{
        const struct reading reading = {.command = command};
        const char *name = path_base(command->values[0]);
        bool tool = false;
        if (str_equal(name, "uvx") || str_equal(name, "uv")) {
                size_t run = str_equal(name, "uv") ? find_uv_run(&reading, &tool) : 0;
                request->uv = true;
                return (str_equal(name, "uvx") || (run && tool)) &&
                       read_uvx_request(&reading, run + 1, request);
        }
        bool exec = str_equal(name, "npm") && command->count > 1 &&
                    (str_equal(command->values[1], "exec") || str_equal(command->values[1], "x"));
        return (exec || str_equal(name, "npx")) && read_npx_request(&reading, exec ? 2 : 1, request);
}

char *runners_find_package(const struct str_list *command)
{
        const struct reading reading = {.command = command};
        const char *name = path_base(command->values[0]);
        const char *request = NULL;
        bool tool = str_equal(name, "uvx");
        if (tool) {
                request = uvx_request(&reading, 1);
        } else if (str_equal(name, "uv")) {
                size_t run = find_uv_run(&reading, &tool);
                request = run && tool ? uvx_request(&reading, run + 1) : NULL;
        } else if (str_equal(name, "npx") || str_equal(name, "bunx")) {
                request = npx_request(&reading, 1);
        } else if (str_equal(name, "npm") && command->count > 1 &&
                   (str_equal(command->values[1], "exec") || str_equal(command->values[1], "x"))) {
                request = npx_request(&reading, 2);
        }
        if (!request)
                return NULL;
        return tool ? str_copy_n(request, strcspn(request, "[@=<>~! ;")) : package_name(request);
}

const char *runners_find_project(const struct str_list *command)
{
        const struct reading reading = {.command = command};
        bool tool;
        size_t run = 0;
        if (str_equal(path_base(command->values[0]), "uv"))
                run = find_uv_run(&reading, &tool);
        if (!run || tool)
                return NULL;
        size_t program = skip_options(&reading, run + 1, uv_value_words);
        const char *directory = find_value(&reading, 1, program, "--directory");
        if (!directory)
                directory = find_value(&reading, 1, program, "--project");
        if (directory)
                return directory;
        return program < command->count ? command->values[program] : NULL;
}

char *runners_find_unsynced(const struct resolver *resolver)
{
        const struct reading reading = {.command = &resolver->box->argv, .resolver = resolver};
        bool tool = false;
        size_t run =
            str_equal(path_base(reading.command->values[0]), "uv") ? find_uv_run(&reading, &tool) : 0;
        return run && !tool ? find_unsynced(&reading, run) : NULL;
}

void runners_free_needs(struct runner_needs *needs)
{
        str_list_free(&needs->programs);
        str_list_free(&needs->directories);
        str_list_free(&needs->environment);
        str_list_free(&needs->notes);
        *needs = (struct runner_needs){0};
}
