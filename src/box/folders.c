/* SPDX-License-Identifier: Apache-2.0
 *
 * See folders.h.
 */
#include "box/folders.h"

#include "box/danger.h"
#include "box/mounts.h"
#include "box/search.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <cjson/cJSON.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define NIX_STORE "/nix/store"

enum { MOST_PACKAGE_BYTES = 1 << 20 };

bool folder_in_host_tree(const char *path)
{
        static const char *const shown[] = {"/usr",   "/bin",   "/sbin",   "/lib",
                                            "/lib32", "/lib64", "/libx32", "/etc/alternatives"};
        for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
                if (path_is_below(path, shown[i]))
                        return true;
        return false;
}

bool folder_has(const char *folder, const char *name)
{
        autofree char *path = path_join(folder, name);
        return access(path, F_OK) == 0;
}

bool path_has_name(const char *path, const char *name)
{
        return str_equal(strrchr(path, '/') + 1, name);
}

bool folder_exists(const char *path)
{
        struct stat status;
        return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool folder_is_own(const struct folders *folders, const char *folder)
{
        /* Other than those that danger.h refuses. */
        static const char *const shared[] = {"/opt", "/srv", "/mnt", "/media", "/home", "/root", "/boot"};
        autofree char *real = realpath(folder, NULL);
        struct stat status;
        if (!real || stat(real, &status) < 0 || !S_ISDIR(status.st_mode))
                return false;
        for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++)
                if (str_equal(real, shared[i]))
                        return false;
        /* As /tmp: anybody may put a package.json there. */
        if (status.st_mode & S_IWOTH)
                return false;
        return !grant_danger(real, folders->real_home, false);
}

bool folder_is_writable_grant(const struct folders *folders, const char *folder)
{
        autofree char *real = realpath(folder, NULL);
        autofree char *above = real ? path_parent(real) : NULL;
        const struct mount *grant = real && folders->box ? mounts_find_writable(folders->box, real) : NULL;
        return grant && mounts_find_writable(folders->box, above) != grant;
}

bool folder_is_package(const char *folder)
{
        static const char *const markers[] = {"package.json", "pyproject.toml", "setup.py", ".venv",
                                              "deno.json"};
        for (size_t i = 0; i < sizeof(markers) / sizeof(*markers); i++)
                if (folder_has(folder, markers[i]))
                        return true;
        return false;
}

/* The top of a repository of several packages: what they need lies in its node_modules, and so do links from
 * one to another (npm-workspaces(7), pnpm's and yarn's manuals). */
static bool is_package_workspace(const char *folder)
{
        autofree char *file = path_join(folder, "package.json");
        autofree char *text = NULL;
        if (folder_has(folder, "pnpm-workspace.yaml"))
                return true;
        if (fd_read_file(file, MOST_PACKAGE_BYTES, &text) < 0)
                return false;
        cJSON *json = cJSON_Parse(text);
        const cJSON *members = cJSON_GetObjectItemCaseSensitive(json, "workspaces");
        bool found = cJSON_IsArray(members) || cJSON_IsObject(members);
        cJSON_Delete(json);
        return found;
}

bool folder_is_venv(const char *folder)
{
        return folder_has(folder, "pyvenv.cfg");
}

/* Installations whose programs load libraries of their neighbours: one prefix, whatever program is named. */
static bool is_homebrew(const char *folder)
{
        return path_has_name(folder, ".linuxbrew") && folder_has(folder, "Cellar") &&
               folder_has(folder, "bin");
}

char *folder_find_whole_prefix(const struct folders *folders, const char *start)
{
        if (path_is_below(start, NIX_STORE))
                return folder_is_own(folders, NIX_STORE) ? str_copy(NIX_STORE) : NULL;
        return folder_find_above(folders, start, is_homebrew);
}

char *folder_find_above(const struct folders *folders, const char *start, bool (*matches)(const char *))
{
        char *folder = str_copy(start);
        while (folder_is_own(folders, folder)) {
                if (matches(folder))
                        return folder;
                if (folder_is_writable_grant(folders, folder))
                        break;
                char *parent = path_parent(folder);
                free(folder);
                folder = parent;
        }
        free(folder);
        return NULL;
}

/* The outermost node_modules at or above `start`, else the nearest root. */
static char *find_nearest_root(const struct folders *folders, const char *start)
{
        autofree char *nearest = NULL, *modules = NULL;
        char *folder = str_copy(start);
        bool in_bin = path_has_name(folder, "bin");
        while (folder_is_own(folders, folder)) {
                if (path_has_name(folder, "node_modules")) {
                        free(modules);
                        modules = str_copy(folder);
                }
                char *parent = path_parent(folder);
                bool ends_here = folder_is_writable_grant(folders, folder);
                if (!nearest && (ends_here || folder_is_package(folder)))
                        nearest = str_copy(folder);
                if (ends_here) {
                        free(parent);
                        break;
                }
                if (!nearest && in_bin && folder_has(parent, "lib") && folder_is_own(folders, parent))
                        nearest = str_copy(parent);
                in_bin = false;
                free(folder);
                folder = parent;
        }
        free(folder);
        char **found = modules ? &modules : &nearest;
        char *root = *found;
        *found = NULL;
        return root;
}

char *folder_find_root(const struct folders *folders, const char *start)
{
        char *whole = folder_find_whole_prefix(folders, start);
        char *root = whole ? whole : find_nearest_root(folders, start);
        char *workspace = NULL;
        if (root && !whole && folder_has(root, "package.json"))
                workspace = folder_find_above(folders, root, is_package_workspace);
        if (!workspace)
                return root;
        free(root);
        return workspace;
}

bool folder_is_runtime(const char *folder)
{
        if (folder_has(folder, "bin/node") && folder_has(folder, "include/node"))
                return true;
        autofree char *escaped = search_escape(folder);
        autofree char *pattern = str_format("%s/lib/python3.*/os.py", escaped);
        glob_t matches = {0};
        bool found = glob(pattern, GLOB_NOSORT, NULL, &matches) == 0;
        globfree(&matches);
        return found;
}

bool folder_may_be_written(const struct folders *folders, const char *path)
{
        /* The last component as it is: a link is written where it lies, not where it leads. */
        autofree char *folder = path_parent(path);
        autofree char *real = realpath(folder, NULL);
        autofree char *place = real ? path_join(real, strrchr(path, '/') + 1) : NULL;
        return place && folders->box && mounts_find_writable(folders->box, place);
}

bool folder_content_may_be_written(const struct folders *folders, const char *path)
{
        autofree char *real = realpath(path, NULL);
        return folder_may_be_written(folders, path) ||
               (real && folders->box && mounts_find_writable(folders->box, real));
}
