/* SPDX-License-Identifier: Apache-2.0
 *
 * See file_grants.h.
 */
#include "command/file_grants.h"

#include "grants/mounts.h"
#include "grants/sensitive_paths.h"
#include "lib/fd.h"

#include <stdlib.h>
#include <sys/stat.h>

enum { CONFIG_MAX = 64 * 1024 };

/* Grants the file itself and nothing beside it. */
static bool grant_alone(struct finding *finding, const char *path, const char *why)
{
        const char *real = path_walk_real(resolver_walker(finding->resolver), path);
        const char *refusal =
            real ? sensitive_path_reason(real, resolver_real_home(finding->resolver), false) : NULL;
        /* The user has granted it already, with --unsafe-grant. */
        if (refusal && mounts_show(finding->resolver->box, real))
                return true;
        if (refusal)
                return error_set(finding->resolver->error, EXIT_SETUP,
                                 "%s is needed as %s and cannot be granted: %s", error_shown(path), why,
                                 refusal);
        grant_list_add(&finding->result->grants, path, why);
        return true;
}

/* Grants the Python that a virtual environment's pyvenv.cfg names (`home = /prefix/bin`). The file may be
 * hostile, so only an installation counts. */
static void grant_venv_base(struct finding *finding, const char *venv)
{
        autofree char *file = path_join(venv, "pyvenv.cfg");
        autofree char *text = NULL;
        if (fd_read_file(file, CONFIG_MAX, &text) < 0)
                return;
        char *rest = NULL;
        for (char *line = strtok_r(text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
                char *value = strchr(line, '=');
                if (!value || strncmp(line + strspn(line, " \t"), "home", 4) != 0)
                        continue;
                value += 1 + strspn(value + 1, " \t");
                if (value[0] != '/')
                        return;
                autofree char *bin = path_join("/", value);
                autofree char *prefix = path_parent(bin);
                autofree char *installed = trust_find_installation(finding->resolver, prefix);
                autofree char *why = str_format("base of the virtual environment %s", venv);
                if (!directory_in_host_tree(bin) && installed && directory_is_runtime(prefix) &&
                    directory_is_own(finding->resolver, prefix))
                        grant_list_add(&finding->result->grants, prefix, why);
                return;
        }
}

/* For a file in the bin directory of a virtual environment: grants the environment as spelled, and its
 * project. */
static void grant_venv(struct finding *finding, const char *venv)
{
        autofree char *above = path_parent(venv);
        autofree char *project = directory_find_root(finding->resolver, above);
        grant_list_add(&finding->result->grants, venv, "virtual environment of the command");
        if (project && trust_way(finding->resolver, project, NULL, NULL))
                grant_list_add(&finding->result->grants, project, "project of the virtual environment");
}

/* hutch does not grant a project that everybody may write to, and the program then lacks the files beside it.
 * /tmp and similar directories, which have the sticky bit, are not projects and need no note. */
static void note_shared_directory(struct finding *finding, const char *directory, const char *path)
{
        const struct walked *walked = path_walk(resolver_walker(finding->resolver), directory);
        mode_t mode = walked->status.st_mode;
        if (walked->problem || !(mode & S_IWOTH) || (mode & S_ISVTX))
                return;
        if (!mounts_show(finding->resolver->box, walked->real))
                str_list_take(
                    &finding->result->notes,
                    str_format("only the file %s is granted, because everybody may write in its "
                               "directory; `chmod o-w %s` lets hutch grant the directory, and so does "
                               "--ro %s",
                               path, directory, directory));
}

/* True when the directory may be granted because of a file in it. */
static bool may_grant_directory(const struct finding *finding, const char *directory, bool trusted)
{
        if (trusted && trust_way(finding->resolver, directory, NULL, NULL))
                return true;
        autofree char *installation = trust_find_installation(finding->resolver, directory);
        return installation != NULL;
}

bool file_grants_add(struct finding *finding, const char *path, bool has_link, const char *why, bool trusted)
{
        autofree char *directory = path_parent(path);
        autofree char *above = path_parent(directory);
        autofree char *root = directory_find_root(finding->resolver, directory);
        bool in_venv = directory_path_has_name(directory, "bin") && directory_is_venv(above) &&
                       directory_is_own(finding->resolver, above);
        if (in_venv)
                grant_venv_base(finding, above);
        if (in_venv && trusted && may_grant_directory(finding, above, trusted)) {
                grant_venv(finding, above);
                return true;
        }
        if (!trusted) {
                free(root);
                root = trust_find_installation(finding->resolver, path);
        }
        if (root && may_grant_directory(finding, root, trusted)) {
                grant_list_add(&finding->result->grants, root, why);
                return true;
        }
        if (has_link)
                return true;
        if (!trusted) {
                if (!finding->doubted)
                        str_list_add(&finding->result->data, path);
                return true;
        }
        if (directory_is_own(finding->resolver, directory)) {
                grant_list_add(&finding->result->grants, directory, why);
                return true;
        }
        note_shared_directory(finding, directory, path);
        return grant_alone(finding, path, why);
}
