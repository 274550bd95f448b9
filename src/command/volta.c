/* SPDX-License-Identifier: Apache-2.0
 *
 * See volta.h.
 */
#include "command/volta.h"

#include "lib/fd.h"
#include "lib/str.h"

/* ROOT/tools/image/TOOL/VERSION/bin/NAME, or NULL with an error. The caller frees. */
static char *find_program(const struct shim_choice *choice, const char *tool, const char *version,
                          const char *name)
{
        char *program =
            str_format("%s/tools/image/%s/%s/bin/%s", choice->root, tool, version ? version : "", name);
        if (version && str_is_file_name(version) && shim_choice_is_program(program))
                return program;
        free(program);
        error_set(choice->resolver->error, EXIT_NOT_FOUND,
                  "%s is a shim of Volta, and %s %s, which it would start, is not installed; install it, or "
                  "name the program itself",
                  error_shown(choice->path), tool, error_shown(version ? version : "(none)"));
        return NULL;
}

/* Asks what `volta pin` wrote for `tool`, else the user's default, which may be missing. */
static bool ask_pinned(const struct shim_choice *choice, const char *tool, struct wanted *wanted)
{
        static const struct version_file files[] = {{"package.json", versions_read_json}, {0}};
        autofree char *pinned = str_format("volta.%s", tool);
        autofree char *platform = path_join(choice->root, "tools/user/platform.json");
        /* Without a choice of npm, the key is missing and the runtime's own npm counts. */
        autofree char *key = str_equal(tool, "node")  ? str_copy("node.runtime")
                             : str_equal(tool, "npm") ? str_copy("node.npm")
                                                      : str_copy(tool);
        return shim_choice_ask_upward(choice, files, pinned, wanted) &&
               (wanted->versions || shim_choice_ask_file(choice, platform, versions_read_json, key, wanted));
}

/* For a program of `volta install PACKAGE`: tools/user/bins/NAME.json names its package. */
static bool follow_package(const struct shim_choice *choice, const char *file)
{
        __attribute__((cleanup(shim_choice_free_wanted))) struct wanted package = {0}, runtime = {0};
        if (!shim_choice_ask_file(choice, file, versions_read_json, "package", &package) ||
            !shim_choice_ask_file(choice, file, versions_read_json, "platform.node", &runtime))
                return false;
        /* @scope/name is two directories. */
        const char *name = package.versions ? package.versions : "";
        const char *slash = name[0] == '@' ? strchr(name, '/') : NULL;
        autofree char *scope = str_copy_n(name, slash ? (size_t)(slash - name) : 0);
        if (!str_is_file_name(slash ? slash + 1 : name) || (slash && !str_is_file_name(scope)))
                return shim_choice_no_version(choice);
        autofree char *program =
            str_format("%s/tools/image/packages/%s/bin/%s", choice->root, name, choice->name);
        if (!shim_choice_is_program(program))
                return shim_choice_no_version(choice);
        choice->shim->runtime = find_program(choice, "node", runtime.versions, "node");
        if (!choice->shim->runtime)
                return false;
        choice->shim->program = str_copy(program);
        return true;
}

bool volta_follow(const struct shim_choice *choice)
{
        const char *name = choice->name;
        bool of_npm = str_equal(name, "npm") || str_equal(name, "npx");
        bool of_pnpm = str_equal(name, "pnpm") || str_equal(name, "pnpx");
        bool of_yarn = str_equal(name, "yarn") || str_equal(name, "yarnpkg");
        __attribute__((cleanup(shim_choice_free_wanted))) struct wanted node = {0}, tool = {0};
        autofree char *entry = str_format("%s/tools/user/bins/%s.json", choice->root, name);
        if (!str_equal(name, "node") && !of_npm && !of_pnpm && !of_yarn)
                return follow_package(choice, entry);
        const char *tool_name = of_npm ? "npm" : of_pnpm ? "pnpm" : "yarn";
        if (!ask_pinned(choice, "node", &node) ||
            (!str_equal(name, "node") && !ask_pinned(choice, tool_name, &tool)))
                return false;
        choice->shim->runtime = find_program(choice, "node", node.versions, "node");
        if (!choice->shim->runtime)
                return false;
        if (str_equal(name, "node")) {
                choice->shim->program = choice->shim->runtime;
                choice->shim->runtime = NULL;
        } else if (of_npm && !tool.versions) {
                choice->shim->program = find_program(choice, "node", node.versions, name);
        } else {
                choice->shim->program = find_program(choice, tool_name, tool.versions, name);
        }
        return choice->shim->program != NULL;
}
