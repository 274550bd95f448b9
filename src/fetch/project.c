/* SPDX-License-Identifier: Apache-2.0
 *
 * See project.h. To build a project uv downloads the packages that its build needs: a build without the
 * project's files brings them into the cache before it fails.
 */
#include "fetch/project.h"

#include "fetch/sandbox.h"
#include "lib/fd.h"
#include "packages/project.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#define ENVIRONMENT_NAME "hutch-project"

enum {
        FILE_MAX = 16 << 20,
};

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

static bool synchronize(int cache, const struct fetch_plan *plan, const char *option, const char *cwd,
                        bool locked, const struct options *options, struct error *error)
{
        struct str_list words = {0};
        str_list_add(&words, options->command.values[0]);
        str_list_add(&words, "sync");
        if (locked)
                str_list_add(&words, "--frozen");
        if (option)
                str_list_add(&words, option);
        bool done = fetch_sandbox_run(cache, FETCH_UV, plan, &words, cwd, options, error);
        str_list_free(&words);
        return done;
}

static bool build(int cache, struct fetch_plan *plan, const char *directory, const char *copies, bool locked,
                  const struct options *options, struct error *error)
{
        struct error ignored = {0};
        plan->quiet = true;
        (void)synchronize(cache, plan, NULL, copies, locked, options, &ignored);
        plan->quiet = false;
        plan->offline = true;
        plan->overlay = str_copy(directory);
        str_list_free(&plan->files);
        str_list_add(&plan->environment, "UV_OFFLINE=1");
        return synchronize(cache, plan, NULL, directory, locked, options, error);
}

bool fetch_project(int cache, const struct fetch_request *request, const struct options *options,
                   struct fetch_plan *plan, struct entry *entry, struct error *error)
{
        bool locked = false;
        const char *directory = request->packages.values[0];
        autofree char *place = fetch_sandbox_place(FETCH_UV);
        autofree char *variable = str_format("UV_PROJECT_ENVIRONMENT=%s/" ENVIRONMENT_NAME, place);
        autofree char *copies = path_join("/tmp", ENVIRONMENT_NAME);
        if (!plan_read_uv(plan, &options->command, options->min_age_days, error) ||
            !take_lists(plan, directory, &locked, error))
                return false;
        for (size_t i = 0; i < plan->environment.count; i++)
                str_list_add(&entry->environment, plan->environment.values[i]);
        str_list_add(&entry->environment, variable);
        str_list_add(&entry->environment, "UV_NO_SYNC=1");
        str_list_add(&plan->environment, variable);
        str_list_add(&plan->environment, "UV_PYTHON_DOWNLOADS=never");
        return synchronize(cache, plan, "--no-install-project", copies, locked, options, error) &&
               (!is_package(directory) || build(cache, plan, directory, copies, locked, options, error));
}
