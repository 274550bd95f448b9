/* SPDX-License-Identifier: Apache-2.0
 *
 * See shims.h. Each manager is known by the place and the look of its shim; where it keeps its programs
 * follows from the shim's own place, never from what is written in it. Then the first of these that names a
 * version decides, as for the manager itself: a variable of the caller, the nearest file from the working
 * directory upward, the manager's own default.
 */
#include "command/shims.h"

#include "command/search.h"
#include "command/versions.h"
#include "lib/fd.h"
#include "lib/suggest.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHIM_MAX = 16 * 1024, VERSION_FILE_MAX = 256 * 1024 };

struct following {
        const struct toolchain_caller *caller;
        const struct directories *directories;
        const char *manager;
        const char *path; /* of the shim */
        const char *name; /* of the program: the path's last component */
        char *root;       /* the manager's directory: bin or shims lies in it */
        struct shim *shim;
        struct error *error;
};

/* A set of versions and who says so. */
struct wanted {
        char *versions;
        char *source;
};

static void wanted_free(struct wanted *wanted)
{
        free(wanted->versions);
        free(wanted->source);
}

static bool is_program(const char *path)
{
        struct stat status;
        return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* ---- which version ---- */

static bool refuse_writable(const struct following *following, const char *file)
{
        return error_set(following->error, EXIT_SETUP,
                         "%s is a shim of %s, and %s, which chooses what it starts, can be written by the "
                         "sandbox; name the program itself instead",
                         error_shown(following->path), following->manager, error_shown(file));
}

/* What one file says. False, with an error, when it says something and the command may have written it. */
static bool ask_file(const struct following *following, const char *file, versions_reader *read,
                     const char *tool, struct wanted *wanted)
{
        autofree char *text = NULL;
        if (fd_read_file(file, VERSION_FILE_MAX, &text) < 0)
                return true;
        autofree char *versions = read(text, tool);
        if (!versions)
                return true;
        if (directory_content_may_be_written(following->directories, file))
                return refuse_writable(following, file);
        wanted->versions = str_copy(versions);
        wanted->source = str_copy(file);
        return true;
}

static void ask_variable(const char *name, struct wanted *wanted)
{
        const char *value = getenv(name);
        wanted->versions = value ? versions_read_words(value, NULL) : NULL;
        if (wanted->versions)
                wanted->source = str_copy(name);
}

struct version_file {
        const char *name;
        versions_reader *read;
};

/* The nearest of `files` (up to a NULL name) in the working directory and above it. */
static bool ask_upward(const struct following *following, const struct version_file *files, const char *tool,
                       struct wanted *wanted)
{
        autofree char *directory = str_copy(following->caller->work);
        for (;;) {
                for (const struct version_file *file = files; file->name && !wanted->versions; file++) {
                        autofree char *path = path_join(directory, file->name);
                        if (!ask_file(following, path, file->read, tool, wanted))
                                return false;
                }
                if (wanted->versions || !directory[1])
                        return true;
                char *parent = path_parent(directory);
                free(directory);
                directory = parent;
        }
}

/* ---- the program of a version ---- */

/* The next one on PATH, as if there were no shims. */
static char *find_system_program(const struct following *following)
{
        autofree char *shims = path_parent(following->path);
        const char *path = following->caller->path ? following->caller->path : SEARCH_SYSTEM_PATH;
        autofree char *copy = str_copy(path);
        char *rest = NULL;
        for (char *directory = strtok_r(copy, ":", &rest); directory;
             directory = strtok_r(NULL, ":", &rest)) {
                autofree char *spelled = path_join(following->caller->cwd, directory);
                autofree char *real = realpath(spelled, NULL);
                autofree char *real_shims = realpath(shims, NULL);
                if (!real || !real_shims || str_equal(real, real_shims))
                        continue;
                char *found = search_path(spelled, "/", following->name, NULL);
                if (found)
                        return found;
        }
        return search_path(SEARCH_SYSTEM_PATH, "/", following->name, NULL);
}

/* `directory`/VERSION, where pyenv also takes the beginning of one: 3.12 is the newest 3.12.x. */
static char *find_version_directory(const char *directory, const char *version)
{
        char *exact = path_join(directory, version);
        if (directory_exists(exact))
                return exact;
        free(exact);
        autofree char *escaped = search_escape(directory);
        autofree char *pattern = str_format("%s/%s.*", escaped, version);
        glob_t matches = {0};
        glob(pattern, GLOB_NOSORT, NULL, &matches);
        const char *newest = NULL;
        for (size_t i = 0; i < matches.gl_pathc; i++) {
                const char *rest = matches.gl_pathv[i] + strlen(directory) + 1 + strlen(version);
                if (rest[strspn(rest, ".0123456789")] == 0 &&
                    (!newest || strverscmp(matches.gl_pathv[i], newest) > 0))
                        newest = matches.gl_pathv[i];
        }
        char *found = newest ? str_copy(newest) : NULL;
        globfree(&matches);
        return found;
}

/* Sets the program of the first version that has it: ROOT/VERSIONS/V/bin/NAME. False with an error. */
static bool take_version(const struct following *following, const char *versions_directory,
                         const struct wanted *wanted)
{
        autofree char *directory = path_join(following->root, versions_directory);
        autofree char *words = str_copy(wanted->versions);
        char *rest = NULL;
        for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
                if (str_equal(word, "system")) {
                        following->shim->program = find_system_program(following);
                } else {
                        if (!str_is_file_name(word))
                                return error_set(following->error, EXIT_SETUP,
                                                 "%s is a shim of %s, and %s names the version \"%s\", which "
                                                 "is no plain version; name the program itself instead",
                                                 error_shown(following->path), following->manager,
                                                 error_shown(wanted->source), error_shown(word));
                        autofree char *version = find_version_directory(directory, word);
                        autofree char *program =
                            version ? str_format("%s/bin/%s", version, following->name) : NULL;
                        if (program && is_program(program))
                                following->shim->program = str_copy(program);
                }
                if (following->shim->program)
                        return true;
        }
        return error_set(following->error, EXIT_NOT_FOUND,
                         "%s is a shim of %s, and no installed version that %s names (%s) has %s; install "
                         "it, or name the program itself",
                         error_shown(following->path), following->manager, error_shown(wanted->source),
                         error_shown(wanted->versions), error_shown(following->name));
}

static bool no_version(const struct following *following)
{
        return error_set(following->error, EXIT_NOT_FOUND,
                         "%s is a shim of %s, and nothing says which version it starts; choose one with %s, "
                         "or name the program itself",
                         error_shown(following->path), following->manager, following->manager);
}

/* ---- pyenv ---- */

static bool follow_pyenv(const struct following *following)
{
        static const struct version_file files[] = {{".python-version", versions_read_words}, {0}};
        __attribute__((cleanup(wanted_free))) struct wanted wanted = {0};
        autofree char *global = path_join(following->root, "version");
        ask_variable("PYENV_VERSION", &wanted);
        if ((!wanted.versions && !ask_upward(following, files, NULL, &wanted)) ||
            (!wanted.versions && !ask_file(following, global, versions_read_words, NULL, &wanted)))
                return false;
        if (!wanted.versions)
                wanted = (struct wanted){str_copy("system"), str_copy("pyenv")};
        return take_version(following, "versions", &wanted);
}

/* ---- files that other tools have for one language ---- */

struct shared_files {
        const char *tool;
        const struct version_file *files;
};

static const struct version_file node_files[] = {
    {".nvmrc", versions_read_plain}, {".node-version", versions_read_plain}, {0}};
static const struct version_file python_files[] = {{".python-version", versions_read_plain}, {0}};
static const struct shared_files shared_files[] = {
    {"nodejs", node_files}, {"node", node_files}, {"python", python_files}, {0}};

/* The manager's own `files`, then, where the person switched that on, those of other tools for `tool`: both
 * in one directory before the next one upward. */
static bool ask_upward_shared(const struct following *following, const struct version_file *files,
                              bool shared, const char *tool, struct wanted *wanted)
{
        enum { MOST_FILES = 16 };
        struct version_file all[MOST_FILES] = {0};
        size_t count = 0;
        for (; files->name && count < MOST_FILES - 1; files++)
                all[count++] = *files;
        for (const struct shared_files *row = shared_files; shared && row->tool; row++)
                for (const struct version_file *file = row->files;
                     str_equal(row->tool, tool) && file->name && count < MOST_FILES - 1; file++)
                        all[count++] = *file;
        return ask_upward(following, all, tool, wanted);
}

/* ---- asdf ---- */

/* `legacy_version_file = yes` in .asdfrc; off by default. */
static bool ask_asdf_shared(const struct following *following, bool *shared)
{
        __attribute__((cleanup(wanted_free))) struct wanted setting = {0};
        const char *moved = getenv("ASDF_CONFIG_FILE");
        autofree char *file =
            moved && moved[0] == '/' ? str_copy(moved) : path_join(following->caller->home, ".asdfrc");
        bool read = ask_file(following, file, versions_read_setting, "legacy_version_file", &setting);
        *shared = setting.versions && str_equal(setting.versions, "yes");
        return read;
}

/* ASDF_NODEJS_VERSION, MISE_NODE_VERSION. The caller frees. */
static char *variable_name(const char *prefix, const char *tool)
{
        char *name = str_format("%s_%s_VERSION", prefix, tool);
        for (char *byte = name; *byte; byte++)
                *byte = *byte == '-' ? '_' : (char)toupper((unsigned char)*byte);
        return name;
}

/* The plugins that the shim itself lists: `# asdf-plugin: nodejs 20.1.0`. */
static bool follow_asdf(const struct following *following, char *text)
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
                __attribute__((cleanup(wanted_free))) struct wanted wanted = {0};
                autofree char *variable = variable_name("ASDF", plugin);
                autofree char *home_file = path_join(following->caller->home, ".tool-versions");
                autofree char *installs = str_format("installs/%s", plugin);
                ask_variable(variable, &wanted);
                bool shared = false;
                if (!ask_asdf_shared(following, &shared) ||
                    (!wanted.versions && !ask_upward_shared(following, files, shared, plugin, &wanted)) ||
                    (!wanted.versions &&
                     !ask_file(following, home_file, versions_read_lines, plugin, &wanted)))
                        return false;
                if (wanted.versions)
                        return take_version(following, installs, &wanted);
        }
        return no_version(following);
}

/* ---- Volta ---- */

/* ROOT/tools/image/TOOL/VERSION/bin/NAME, or NULL with an error. The caller frees. */
static char *find_volta_program(const struct following *following, const char *tool, const char *version,
                                const char *name)
{
        char *program =
            str_format("%s/tools/image/%s/%s/bin/%s", following->root, tool, version ? version : "", name);
        if (version && str_is_file_name(version) && is_program(program))
                return program;
        free(program);
        error_set(following->error, EXIT_NOT_FOUND,
                  "%s is a shim of Volta, and %s %s, which it would start, is not installed; install it, or "
                  "name the program itself",
                  error_shown(following->path), tool, error_shown(version ? version : "(none)"));
        return NULL;
}

/* What `volta pin` wrote for `tool`, else the default, which may be none. */
static bool ask_volta(const struct following *following, const char *tool, struct wanted *wanted)
{
        static const struct version_file files[] = {{"package.json", versions_read_json}, {0}};
        autofree char *pinned = str_format("volta.%s", tool);
        autofree char *platform = path_join(following->root, "tools/user/platform.json");
        /* The runtime's npm, if not another one was chosen, is a part of the runtime's entry. */
        autofree char *key = str_equal(tool, "node")  ? str_copy("node.runtime")
                             : str_equal(tool, "npm") ? str_copy("node.npm")
                                                      : str_copy(tool);
        return ask_upward(following, files, pinned, wanted) &&
               (wanted->versions || ask_file(following, platform, versions_read_json, key, wanted));
}

/* A program of `volta install PACKAGE`: tools/user/bins/NAME.json says which package has it. */
static bool follow_volta_package(const struct following *following, const char *file)
{
        __attribute__((cleanup(wanted_free))) struct wanted package = {0}, runtime = {0};
        if (!ask_file(following, file, versions_read_json, "package", &package) ||
            !ask_file(following, file, versions_read_json, "platform.node", &runtime))
                return false;
        /* @scope/name is two directories. */
        const char *name = package.versions ? package.versions : "";
        const char *slash = name[0] == '@' ? strchr(name, '/') : NULL;
        autofree char *scope = str_copy_n(name, slash ? (size_t)(slash - name) : 0);
        if (!str_is_file_name(slash ? slash + 1 : name) || (slash && !str_is_file_name(scope)))
                return no_version(following);
        autofree char *program =
            str_format("%s/tools/image/packages/%s/bin/%s", following->root, name, following->name);
        if (!is_program(program))
                return no_version(following);
        following->shim->runtime = find_volta_program(following, "node", runtime.versions, "node");
        if (!following->shim->runtime)
                return false;
        following->shim->program = str_copy(program);
        return true;
}

static bool follow_volta(const struct following *following)
{
        const char *name = following->name;
        bool of_npm = str_equal(name, "npm") || str_equal(name, "npx");
        bool of_pnpm = str_equal(name, "pnpm") || str_equal(name, "pnpx");
        bool of_yarn = str_equal(name, "yarn") || str_equal(name, "yarnpkg");
        __attribute__((cleanup(wanted_free))) struct wanted node = {0}, tool = {0};
        autofree char *entry = str_format("%s/tools/user/bins/%s.json", following->root, name);
        if (!str_equal(name, "node") && !of_npm && !of_pnpm && !of_yarn)
                return follow_volta_package(following, entry);
        const char *tool_name = of_npm ? "npm" : of_pnpm ? "pnpm" : "yarn";
        if (!ask_volta(following, "node", &node) ||
            (!str_equal(name, "node") && !ask_volta(following, tool_name, &tool)))
                return false;
        following->shim->runtime = find_volta_program(following, "node", node.versions, "node");
        if (!following->shim->runtime)
                return false;
        if (str_equal(name, "node")) {
                following->shim->program = following->shim->runtime;
                following->shim->runtime = NULL;
        } else if (of_npm && !tool.versions) {
                following->shim->program = find_volta_program(following, "node", node.versions, name);
        } else {
                following->shim->program = find_volta_program(following, tool_name, tool.versions, name);
        }
        return following->shim->program != NULL;
}

/* ---- mise ---- */

/* In mise's order within one directory. */
static const struct version_file mise_files[] = {
    {"mise.local.toml", versions_read_toml},   {".mise.local.toml", versions_read_toml},
    {"mise.toml", versions_read_toml},         {".mise.toml", versions_read_toml},
    {"mise/config.toml", versions_read_toml},  {".mise/config.toml", versions_read_toml},
    {".config/mise.toml", versions_read_toml}, {".config/mise/config.toml", versions_read_toml},
    {".tool-versions", versions_read_lines},   {0},
};

/* `idiomatic_version_file_enable_tools` lists the tools; none by default. */
static bool ask_mise_shared(const struct following *following, const char *global, const char *tool,
                            bool *shared)
{
        static const char variable[] = "MISE_IDIOMATIC_VERSION_FILE_ENABLE_TOOLS";
        __attribute__((cleanup(wanted_free))) struct wanted setting = {0};
        ask_variable(variable, &setting);
        if (!setting.versions && !ask_file(following, global, versions_read_toml_setting,
                                           "idiomatic_version_file_enable_tools", &setting))
                return false;
        char *rest = NULL;
        for (char *word = setting.versions ? strtok_r(setting.versions, " ,", &rest) : NULL; word;
             word = strtok_r(NULL, " ,", &rest))
                *shared |= str_equal(word, tool);
        return true;
}

/* The version of `tool`, also under the name that asdf has for it. */
static bool ask_mise(const struct following *following, const char *tool, struct wanted *wanted)
{
        static const char *const other_names[][2] = {{"node", "nodejs"}, {"go", "golang"}};
        const char *configuration = getenv("XDG_CONFIG_HOME");
        autofree char *global = configuration && configuration[0] == '/'
                                    ? path_join(configuration, "mise/config.toml")
                                    : path_join(following->caller->home, ".config/mise/config.toml");
        autofree char *variable = variable_name("MISE", tool);
        bool shared = false;
        ask_variable(variable, wanted);
        if (!ask_mise_shared(following, global, tool, &shared) ||
            (!wanted->versions && !ask_upward_shared(following, mise_files, shared, tool, wanted)))
                return false;
        for (size_t i = 0; i < sizeof(other_names) / sizeof(*other_names) && !wanted->versions; i++)
                if (str_equal(tool, other_names[i][0]) &&
                    !ask_upward(following, mise_files, other_names[i][1], wanted))
                        return false;
        return wanted->versions || ask_file(following, global, versions_read_toml, tool, wanted);
}

/* The only version of a tool that is installed, or the one that `latest` links to. */
static void take_only_version(const struct following *following, const char *tool, struct wanted *wanted)
{
        autofree char *directory = str_format("%s/installs/%s", following->root, tool);
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

/* The tools that have a program of this name: installs/TOOL/VERSION/bin/NAME. */
static void list_mise_tools(const struct following *following, struct str_list *tools)
{
        autofree char *root = search_escape(following->root);
        autofree char *name = search_escape(following->name);
        autofree char *pattern = str_format("%s/installs/*/*/bin/%s", root, name);
        size_t front = strlen(following->root) + strlen("/installs/");
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

static bool follow_mise_tools(const struct following *following, const struct str_list *tools)
{
        for (size_t i = 0; i < tools->count; i++) {
                __attribute__((cleanup(wanted_free))) struct wanted wanted = {0};
                if (!ask_mise(following, tools->values[i], &wanted))
                        return false;
                if (!wanted.versions && tools->count == 1)
                        take_only_version(following, tools->values[i], &wanted);
                autofree char *directory = str_format("installs/%s", tools->values[i]);
                if (wanted.versions)
                        return take_version(following, directory, &wanted);
        }
        return no_version(following);
}

static bool follow_mise(const struct following *following)
{
        struct str_list tools = {0};
        list_mise_tools(following, &tools);
        bool found = follow_mise_tools(following, &tools);
        str_list_free(&tools);
        return found;
}

/* ---- which manager ---- */

static bool refuse_snap(const struct following *following)
{
        return error_set(
            following->error, EXIT_NOT_EXECUTABLE,
            "%s belongs to snap, whose programs run only through snapd's own set-uid sandbox and "
            "cannot run in this one; install %s from the distribution's packages or a version "
            "manager, and name that one",
            error_shown(following->path), error_shown(following->name));
}

/* Volta's and mise's shims are links to one program, as are snap's. */
static bool follow_link(struct following *following, const char *directory, const char *text)
{
        autofree char *target = path_join("/", text);
        if (str_equal(text, "/usr/bin/snap"))
                return refuse_snap(following);
        if (directory_path_has_name(target, "volta-shim") && directory_path_has_name(directory, "bin")) {
                following->manager = "Volta";
                return follow_volta(following);
        }
        if (directory_path_has_name(target, "mise") && directory_path_has_name(directory, "shims")) {
                following->manager = "mise";
                return follow_mise(following);
        }
        return true;
}

/* pyenv's and asdf's are scripts. */
static bool follow_script(struct following *following)
{
        autofree char *text = NULL;
        if (fd_read_file(following->path, SHIM_MAX, &text) < 0 || !str_starts(text, "#!"))
                return true;
        if (strstr(text, "\n# asdf-plugin: ")) {
                following->manager = "asdf";
                return follow_asdf(following, text);
        }
        if (strstr(text, "/pyenv\" exec ")) {
                following->manager = "pyenv";
                return follow_pyenv(following);
        }
        return true;
}

bool shims_follow(const char *path, const struct toolchain_caller *caller,
                  const struct directories *directories, struct shim *shim, struct error *error)
{
        char text[PATH_MAX];
        autofree char *directory = path_parent(path);
        autofree char *root = path_parent(directory);
        ssize_t length = readlink(path, text, sizeof(text) - 1);
        struct following following = {
            .caller = caller,
            .directories = directories,
            .manager = "snap",
            .path = path,
            .name = strrchr(path, '/') + 1,
            .root = root,
            .shim = shim,
            .error = error,
        };
        *shim = (struct shim){0};
        /* What the command may have written says nothing about the person's programs. */
        if (directory_may_be_written(directories, path))
                return true;
        if (length >= 0) {
                text[length] = 0;
                return follow_link(&following, directory, text);
        }
        if (!directory_path_has_name(directory, "shims") ||
            directory_content_may_be_written(directories, path))
                return true;
        return follow_script(&following);
}

char *shims_read_node_script(const char *file)
{
        static const char front[] = "exec node ", directory[] = "\"$basedir/";
        autofree char *text = NULL;
        if (fd_read_file(file, SHIM_MAX, &text) < 0 || !str_starts(text, "#!") || !strstr(text, "\nbasedir="))
                return NULL;
        char *target = strstr(text, front);
        target = target ? target + strlen(front) + strspn(target + strlen(front), " ") : NULL;
        if (!target || !str_starts(target, directory))
                return NULL;
        target += strlen(directory);
        size_t length = strcspn(target, "\"\n");
        return length > 0 && target[length] == '"' ? str_copy_n(target, length) : NULL;
}
