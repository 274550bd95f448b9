/* SPDX-License-Identifier: Apache-2.0
 *
 * See project.h. To build a project uv downloads the packages that its build needs: a build without the
 * project's files brings them into the cache before it fails.
 */
#include "fetch/project.h"

#include "fetch/sandbox.h"
#include "lib/fd.h"
#include "packages/project.h"

#include <stdlib.h>
#include <sys/stat.h>

#define ENVIRONMENT_NAME "hutch-project"

enum { FILE_MAX = 16 << 20 };

/* Adds the lists that exist. Links are refused: a server that may write in the project could have made one,
 * to any file of the user. */
static bool take_lists(struct fetch_plan *plan, const char *directory, bool *locked, struct error *error)
{
        for (size_t i = 0; i < PACKAGE_PROJECT_LISTS; i++) {
                struct stat status;
                autofree char *path = path_join(directory, package_project_lists[i]);
                if (lstat(path, &status) < 0)
                        continue;
                if (!S_ISREG(status.st_mode))
                        return error_set(error, EXIT_SETUP, "%s is not a regular file", error_shown(path));
                *locked |= str_equal(package_project_lists[i], "uv.lock");
                str_list_add(&plan->files, path);
        }
        return true;
}

/* True when the project is a package, which uv installs as well. */
static bool is_package(const char *directory)
{
        autofree char *path = path_join(directory, package_project_lists[0]);
        autofree char *text = NULL;
        return fd_read_file(path, FILE_MAX, &text) >= 0 &&
               (str_starts(text, "[build-system]") || strstr(text, "\n[build-system]"));
}

static bool synchronize(const struct fetch_plan *plan, const char *option, const char *cwd, bool locked,
                        struct error *error)
{
        struct str_list words = {0};
        str_list_add_each(&words, plan->options->command.values[0], "sync", option, NULL);
        if (locked)
                str_list_add(&words, "--frozen");
        return fetch_sandbox_run(plan, &words, cwd, error);
}

static bool build(struct fetch_plan *plan, const char *directory, const char *copies, bool locked,
                  struct error *error)
{
        struct error ignored = {0};
        plan->quiet = true;
        (void)synchronize(plan, NULL, copies, locked, &ignored);
        plan->quiet = false;
        plan->offline = true;
        plan->overlay = str_copy(directory);
        str_list_free(&plan->files);
        str_list_add(&plan->environment, "UV_OFFLINE=1");
        return synchronize(plan, NULL, directory, locked, error);
}

bool fetch_project(struct fetch_plan *plan, struct error *error)
{
        bool locked = false;
        const char *directory = plan->request->packages.values[0];
        autofree char *place = fetch_sandbox_place(plan);
        autofree char *variable = str_format("UV_PROJECT_ENVIRONMENT=%s/" ENVIRONMENT_NAME, place);
        autofree char *copies = path_join("/tmp", ENVIRONMENT_NAME);
        if (!plan_read_uv(plan, error) || !take_lists(plan, directory, &locked, error))
                return false;
        str_list_add_each(&plan->entry->environment, variable, "UV_NO_SYNC=1", NULL);
        str_list_add_each(&plan->environment, variable, "UV_PYTHON_DOWNLOADS=never", NULL);
        return synchronize(plan, "--no-install-project", copies, locked, error) &&
               (!is_package(directory) || build(plan, directory, copies, locked, error));
}
