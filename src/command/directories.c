/* SPDX-License-Identifier: Apache-2.0
 *
 * See directories.h.
 */
#include "command/directories.h"

#include "grants/mounts.h"
#include "grants/past_grants.h"
#include "grants/sensitive_paths.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_PACKAGE_BYTES = 1 << 20 };

bool directory_in_host_tree(const char *path)
{
        static const char *const shown[] = {"/usr",   "/bin",   "/sbin",   "/lib",
                                            "/lib32", "/lib64", "/libx32", "/etc/alternatives"};
        for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
                if (path_is_below(path, shown[i]))
                        return true;
        return false;
}

bool directory_has(const char *directory, const char *name)
{
        autofree char *path = path_join(directory, name);
        return access(path, F_OK) == 0;
}

bool directory_path_has_name(const char *path, const char *name)
{
        return str_equal(strrchr(path, '/') + 1, name);
}

bool directory_exists(const char *path)
{
        struct stat status;
        return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool directory_is_personal(const struct resolver *resolver, const char *directory)
{
        const char *home = resolver_real_home(resolver);
        autofree char *above = path_parent(directory);
        return home[0] && str_equal(above, home) &&
               str_words_have("Documents Downloads Desktop", path_base(directory),
                              strlen(path_base(directory)));
}

bool directory_is_own(const struct resolver *resolver, const char *directory)
{
        /* In addition to the sensitive paths. */
        static const char *const shared[] = {"/opt", "/srv", "/mnt", "/media", "/home", "/root", "/boot"};
        const struct walked *walked = path_walk(resolver_walker(resolver), directory);
        const char *real = walked->real;
        if (walked->problem || !S_ISDIR(walked->status.st_mode))
                return false;
        for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++)
                if (str_equal(real, shared[i]))
                        return false;
        /* In a directory such as /tmp, anybody may make a package.json. */
        if (walked->status.st_mode & S_IWOTH)
                return false;
        return !directory_is_personal(resolver, real) &&
               !sensitive_path_reason(real, resolver_real_home(resolver), false);
}

bool directory_is_writable_grant(const struct resolver *resolver, const char *directory)
{
        const char *real = path_walk_real(resolver_walker(resolver), directory);
        autofree char *above = real ? path_parent(real) : NULL;
        const struct mount *grant = real ? mounts_find_writable(resolver, real) : NULL;
        const char *past = real ? past_grants_find(resolver, real) : NULL;
        if (past && str_equal(past, real))
                return true;
        return grant && mounts_find_writable(resolver, above) != grant;
}

static bool is_package(const char *directory)
{
        static const char *const markers[] = {"package.json", "pyproject.toml", "setup.py", ".venv",
                                              "deno.json"};
        for (size_t i = 0; i < sizeof(markers) / sizeof(*markers); i++)
                if (directory_has(directory, markers[i]))
                        return true;
        return false;
}

/* True for the top of a repository of several packages. Its node_modules has what they need, and the links
 * from one to another (npm-workspaces(7), the manuals of pnpm and yarn). */
static bool is_package_workspace(const char *directory)
{
        autofree char *file = path_join(directory, "package.json");
        autofree char *text = NULL;
        if (directory_has(directory, "pnpm-workspace.yaml"))
                return true;
        if (fd_read_file(file, MOST_PACKAGE_BYTES, &text) < 0)
                return false;
        cJSON *json = cJSON_Parse(text);
        const cJSON *members = cJSON_GetObjectItemCaseSensitive(json, "workspaces");
        bool found = cJSON_IsArray(members) || cJSON_IsObject(members);
        cJSON_Delete(json);
        return found;
}

bool directory_is_venv(const char *directory)
{
        return directory_has(directory, "pyvenv.cfg");
}

char *directory_find_above(const struct resolver *resolver, const char *start, bool (*matches)(const char *))
{
        char *directory = str_copy(start);
        while (directory_is_own(resolver, directory)) {
                if (matches(directory))
                        return directory;
                if (directory_is_writable_grant(resolver, directory))
                        break;
                char *parent = path_parent(directory);
                free(directory);
                directory = parent;
        }
        free(directory);
        return NULL;
}

/* The outermost node_modules at or above `start`, else the nearest package root or installation. */
static char *find_nearest_root(const struct resolver *resolver, const char *start)
{
        autofree char *nearest = NULL, *modules = NULL;
        char *directory = str_copy(start);
        bool in_bin = directory_path_has_name(directory, "bin");
        while (directory_is_own(resolver, directory)) {
                if (directory_path_has_name(directory, "node_modules")) {
                        free(modules);
                        modules = str_copy(directory);
                }
                char *parent = path_parent(directory);
                bool ends_here = directory_is_writable_grant(resolver, directory);
                if (!nearest && (ends_here || is_package(directory)))
                        nearest = str_copy(directory);
                if (ends_here) {
                        free(parent);
                        break;
                }
                if (!nearest && in_bin && directory_has(parent, "lib") && directory_is_own(resolver, parent))
                        nearest = str_copy(parent);
                in_bin = false;
                free(directory);
                directory = parent;
        }
        free(directory);
        char **found = modules ? &modules : &nearest;
        char *root = *found;
        *found = NULL;
        return root;
}

char *directory_find_root(const struct resolver *resolver, const char *start)
{
        char *root = find_nearest_root(resolver, start);
        if (!root || !directory_has(root, "package.json"))
                return root;
        char *workspace = directory_find_above(resolver, root, is_package_workspace);
        if (!workspace)
                return root;
        free(root);
        return workspace;
}

bool directory_may_be_written(const struct resolver *resolver, const char *path)
{
        /* The last component stays unresolved: writing a link needs its own directory, not its target's. */
        autofree char *directory = path_parent(path);
        const char *real = path_walk_real(resolver_walker(resolver), directory);
        autofree char *place = real ? path_join(real, strrchr(path, '/') + 1) : NULL;
        return place && mounts_find_writable(resolver, place);
}

bool directory_content_may_be_written(const struct resolver *resolver, const char *path)
{
        const char *real = path_walk_real(resolver_walker(resolver), path);
        return directory_may_be_written(resolver, path) || (real && mounts_find_writable(resolver, real));
}
