/* SPDX-License-Identifier: Apache-2.0
 *
 * See fetch.h. The order matters: hutch records what npm downloaded before any install script runs. From then
 * on hostile programs have written to the directory, and hutch only takes one digest of it.
 */
#include "fetch/fetch.h"

#include "box/box.h"
#include "command/search.h"
#include "fetch/npm.h"
#include "fetch/project.h"
#include "fetch/sandbox.h"
#include "fetch/tree_digest.h"
#include "lib/fd.h"
#include "lib/homes.h"
#include "lib/messages.h"
#include "lib/own_directory.h"
#include "packages/project.h"
#include "packages/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

static bool refuse_store(int store, struct error *error)
{
        autofree char *path = store_path();
        return error_set(error, EXIT_SETUP, "cannot use hutch's data directory %s: %s", path ? path : "",
                         own_directory_explain(store));
}

/* ---- npm ---- */

/* The command line of npm, from the directory of the command's npx. */
static void begin_npm(const struct fetch_plan *plan, struct str_list *words)
{
        const char *first = plan->options->command.values[0], *slash = strrchr(first, '/');
        str_list_take(words,
                      slash ? str_format("%.*snpm", (int)(slash + 1 - first), first) : str_copy("npm"));
}

static bool download_npm(const struct fetch_plan *plan, struct error *error)
{
        struct str_list words = {0};
        begin_npm(plan, &words);
        str_list_add_each(&words, "exec", "--yes", "--ignore-scripts", NULL);
        /* A variable cannot have the name "npm_config_@scope:registry". */
        for (size_t i = 0; i < plan->environment.count; i++) {
                const char *setting = plan->environment.values[i];
                if (!str_is_variable_name(setting, strcspn(setting, "=")))
                        str_list_take(&words, str_format("--%s", setting + strlen("npm_config_")));
        }
        for (size_t i = 0; i < plan->request->packages.count; i++)
                str_list_take(&words, str_format("--package=%s", plan->request->packages.values[i]));
        str_list_add_each(&words, "--", "/bin/true", NULL); /* a package may have a program named `true` */
        return fetch_sandbox_run(plan, &words, NULL, error);
}

static bool run_scripts(const struct fetch_plan *plan, const char *directory, struct error *error)
{
        struct str_list words = {0};
        begin_npm(plan, &words);
        str_list_add(&words, "rebuild");
        autofree char *place = fetch_sandbox_place(plan);
        autofree char *cwd = str_format("%s/_npx/%s", place, directory);
        return fetch_sandbox_run(plan, &words, cwd, error);
}

static bool fetch_npm(struct fetch_plan *plan, struct error *error)
{
        autofree char *directory = NULL;
        bool scripts;
        const char *package = plan->request->packages.values[0];
        if (!plan_read_npm(plan, error))
                return false;
        str_list_add_each(&plan->environment, "npm_config_script_shell=/bin/sh", "npm_config_logs_max=0",
                          "npm_config_audit=false", "npm_config_fund=false", "npm_config_fetch_retries=1",
                          "npm_config_loglevel=error", NULL);
        return download_npm(plan, error) &&
               npm_read_packages(plan->cache, package, plan->entry, &directory, &scripts, error) &&
               (!scripts || plan->no_scripts || run_scripts(plan, directory, error));
}

/* ---- uv ---- */

/* NAME@VERSION is NAME==VERSION in a requirement; @latest is not a version. */
static char *requirement(const char *package)
{
        const char *at = strchr(package, '@');
        if (!at)
                return str_copy(package);
        return str_equal(at + 1, "latest") ? str_copy_n(package, (size_t)(at - package))
                                           : str_format("%.*s==%s", (int)(at - package), package, at + 1);
}

/* Leaves a file in the cache that names the environment. */
#define WHERE_FILE "hutch-environment"
static const char say_where[] =
    "import os, sys; open(os.path.expanduser('~/.cache/uv/" WHERE_FILE "'), 'w').write(sys.prefix)";

/* Hostile: a package that was built for the environment may have written the file. */
static void find_environment(const struct fetch_plan *plan)
{
        autofree char *text = NULL, *place = fetch_sandbox_place(plan);
        autoclose int file = openat(plan->cache, WHERE_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        ssize_t length = file < 0 ? -1 : fd_read_all(file, PATH_MAX, &text);
        (void)unlinkat(plan->cache, WHERE_FILE, 0);
        size_t front = strlen(place) + 1;
        autofree char *normal = length > 0 && text[0] == '/' ? path_join("/", text) : NULL;
        if (normal && strlen(text) == (size_t)length && strlen(normal) > front &&
            path_is_below(normal, place))
                plan->entry->directory = str_format("%s/bin", normal + front);
}

/* The environment's Python runs no code of the package for this. */
static bool fetch_uv(struct fetch_plan *plan, struct error *error)
{
        const char *first = plan->options->command.values[0];
        const struct str_list *packages = &plan->request->packages;
        struct str_list words = {0};
        if (!plan_read_uv(plan, error))
                return false;
        str_list_add(&words, first);
        size_t length = strlen(first);
        if (length < 3 || !str_equal(first + length - 3, "uvx"))
                str_list_add_each(&words, "tool", "run", NULL);
        str_list_add(&words, "--from");
        str_list_take(&words, requirement(packages->values[0]));
        for (size_t i = 1; i < packages->count; i++) {
                const char *package = packages->values[i];
                if (package[0] != '-')
                        str_list_add(&words, "--with");
                str_list_add(&words, package);
        }
        str_list_add_each(&words, "python", "-c", say_where, NULL);
        str_list_add(&plan->environment, "UV_PYTHON_DOWNLOADS=never");
        bool done = fetch_sandbox_run(plan, &words, NULL, error);
        if (done)
                find_environment(plan);
        return done;
}

/* ---- one entry ---- */

static void copy_command(const struct fetch_plan *plan)
{
        const struct str_list *command = &plan->options->command;
        if (plan->request->tool != FETCH_UV_PROJECT)
                str_list_add_all(&plan->entry->command, command);
        else /* the same from any working directory */
                str_list_add_each(&plan->entry->command, command->values[0], "--directory",
                                  plan->request->packages.values[0], "run", "python", NULL);
}

/* Fills an unfinished entry. */
static bool fill(int directory, const struct fetch_request *request, const char *name,
                 const struct options *options, struct error *error)
{
        if (mkdirat(directory, "cache", 0700) < 0)
                return error_set(error, EXIT_SETUP, "cannot make a directory: %s", strerror(errno));
        autoclose int cache = openat(directory, "cache", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct entry entry = {.name = str_copy(name), .fetched = time(NULL)};
        struct fetch_plan plan = {.cache = cache, .options = options, .request = request, .entry = &entry};
        char digest[SHA512_DIGEST_STRING_LENGTH];
        /* Before uv reads them: a list that changes meanwhile makes the entry count as missing. */
        int kept = request->tool == FETCH_UV_PROJECT
                       ? package_project_keep(directory, request->packages.values[0])
                       : 0;
        bool done = kept < 0
                        ? error_set(error, EXIT_SETUP, "cannot copy the project's lists: %s", strerror(-kept))
                    : request->tool == FETCH_UV         ? fetch_uv(&plan, error)
                    : request->tool == FETCH_UV_PROJECT ? fetch_project(&plan, error)
                                                        : fetch_npm(&plan, error);
        if (done && tree_digest(cache, digest, error)) {
                entry.digest = str_copy(digest);
                copy_command(&plan);
                str_list_add_all(&entry.registries, &plan.registries);
                done = entry_write(directory, &entry, error);
        } else {
                done = false;
        }
        if (done)
                printf("%s: fetched, %zu packages\n", name, entry.package_count);
        plan_free(&plan);
        entry_free(&entry);
        return done;
}

static void say_waiting(void)
{
        message("another hutch is fetching this; waiting for it");
}

/* Reports a missing npx or uvx in the same words as `hutch mcp`. */
static bool check_command(const char *name, struct error *error)
{
        struct search_failure failure = {0};
        const char *path = getenv("PATH");
        autofree char *cwd = getcwd(NULL, 0);
        autofree char *found = strchr(name, '/') ? search_file(cwd ? cwd : "/", name, &failure)
                                                 : search_path(path ? path : SEARCH_SYSTEM_PATH,
                                                               cwd ? cwd : "/", name, &failure);
        return found || search_explain(&failure, name, path, caller_homes()->spelled, error);
}

/* True when the store has what is asked for. */
static bool has_entry(int store, const char *file, const struct fetch_request *request)
{
        autoclose int entry = store_open_entry(STORE_PACKAGES, store, file);
        return entry >= 0 && (request->tool != FETCH_UV_PROJECT ||
                              package_project_is_current(entry, request->packages.values[0]));
}

static bool fetch_named(int store, const struct fetch_request *request, const char *name, const char *file,
                        const struct options *options, struct error *error)
{
        if (!options->update && has_entry(store, file, request)) {
                printf("%s: fetched already%s; --update fetches it again\n", name,
                       options->min_age_days ? " (its age was not checked)" : "");
                return true;
        }
        if (!check_command(options->command.values[0], error))
                return false;
        autoclose int directory = store_begin(store, file, say_waiting);
        if (directory == -EEXIST) /* another process was faster */
                return has_entry(store, file, request) ||
                       error_set(error, EXIT_SETUP,
                                 "another hutch was fetching %s and did not finish; try again",
                                 error_shown(name));
        if (directory < 0)
                return error_set(error, EXIT_SETUP, "cannot make a directory for %s: %s", name,
                                 own_directory_explain(directory));
        if (!options->update && has_entry(store, file, request)) {
                store_abandon(store, file);
                return true;
        }
        struct error failure = {0};
        bool done = fill(directory, request, name, options, &failure) ||
                    error_set(error, failure.status, "%s: %s%s", error_shown(name), failure.text,
                              has_entry(store, file, request) ? "; the entry that exists is unchanged" : "");
        int committed = done ? store_commit(store, file) : 0;
        if (committed < 0)
                done = error_set(error, EXIT_SETUP, "cannot rename %s to its final name: %s", name,
                                 strerror(-committed));
        if (!done)
                store_abandon(store, file);
        return done;
}

static bool fetch_entry(int store, const struct options *options, struct error *error)
{
        struct fetch_request request;
        package_request_read(&options->command, &request);
        autofree char *name = request.tool == FETCH_NONE ? NULL : fetch_request_name(&request);
        autofree char *file = name ? fetch_name_encode(name) : NULL;
        bool done = file && fetch_named(store, &request, name, file, options, error);
        if (name && !file)
                error_set(
                    error, EXIT_SETUP,
                    "%s is too long for the name of an entry: ask for fewer packages at once, or move the "
                    "project to a shorter path",
                    error_shown(name));
        else if (!file)
                error_set(error, EXIT_USAGE,
                          "%s asks for nothing that can be fetched: write npx -y PACKAGE, npm exec PACKAGE, "
                          "uvx PACKAGE or uv tool run PACKAGE, without a registry option, or uv run in a "
                          "project that has no .venv",
                          error_shown(options->command.values[0]));
        fetch_request_free(&request);
        return done;
}

/* ---- all entries ---- */

/* One entry of the store, and what is asked of it. */
struct visit {
        int store, directory;
        const char *name;
        const struct entry *entry;
        const struct options *options;
        struct error *error;
};
typedef bool entry_visitor(const struct visit *visit);

static bool list_entry(const struct visit *visit)
{
        char date[16];
        struct tm local;
        time_t fetched = (time_t)visit->entry->fetched;
        (void)strftime(date, sizeof(date), "%Y-%m-%d", localtime_r(&fetched, &local));
        printf("%s  %s", date, error_shown(visit->name));
        for (size_t i = 0; i < visit->entry->package_count; i++) {
                const struct entry_package *package = &visit->entry->packages[i];
                /* The entry of the command, or all. */
                autofree char *asked = command_package_name(COMMAND_NPX, strchr(visit->name, ':') + 1);
                if (visit->options->verbose)
                        printf("\n            %s %s %s", error_shown(package->name),
                               error_shown(package->version), error_shown(package->integrity));
                else if (str_equal(asked, package->name))
                        printf("  %s", error_shown(package->version));
        }
        printf("\n");
        return true;
}

static bool verify_entry(const struct visit *visit)
{
        char digest[SHA512_DIGEST_STRING_LENGTH];
        struct error found = {0};
        autoclose int cache =
            openat(visit->directory, "cache", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        bool good = cache >= 0 && tree_digest(cache, digest, &found);
        if (good && !str_equal(digest, visit->entry->digest))
                good = error_set(&found, 1, "its files have changed since they were fetched");
        if (good && str_starts(visit->name, "npm:"))
                good = npm_verify(cache, visit->entry, &found);
        printf("%s: %s\n", error_shown(visit->name),
               good            ? "as it was fetched"
               : found.text[0] ? found.text
                               : "its files are gone");
        return good ||
               error_set(visit->error, 1,
                         "%s has changed since it was fetched; remove it, or fetch it again with --update",
                         error_shown(visit->name));
}

static bool update_entry(const struct visit *visit)
{
        struct options again = *visit->options;
        again.command = visit->entry->command;
        return fetch_entry(visit->store, &again, visit->error);
}

/* Calls `visit` for the entry of the command, or for each entry. Keeps the first error and goes on. */
static bool visit(int store, const struct options *options, entry_visitor *visitor, struct error *error)
{
        struct str_list files = {0};
        struct fetch_request request = {0};
        if (options->command.count > 0) {
                package_request_read(&options->command, &request);
                autofree char *name = request.tool == FETCH_NONE ? NULL : fetch_request_name(&request);
                char *file = name ? fetch_name_encode(name) : NULL;
                if (file)
                        str_list_take(&files, file);
                fetch_request_free(&request);
        } else {
                store_list(STORE_PACKAGES, store, &files);
        }
        bool good = files.count > 0 || options->command.count == 0;
        if (!good)
                error_set(error, EXIT_USAGE, "the command asks for nothing that can be fetched");
        for (size_t i = 0; i < files.count; i++) {
                struct entry entry = {0};
                struct error failure = {0};
                autofree char *name = fetch_name_decode(files.values[i]);
                autoclose int directory = store_open_entry(STORE_PACKAGES, store, files.values[i]);
                const struct visit one = {store, directory, name, &entry, options, &failure};
                bool done = directory >= 0 ? entry_read(directory, name, &entry, &failure) && visitor(&one)
                                           : error_set(&failure, 1, "%s was not fetched", error_shown(name));
                if (!done && files.count > 1)
                        message("%s", failure.text);
                if (!done)
                        good = error_set(error, failure.status, "%s", failure.text);
                entry_free(&entry);
        }
        str_list_free(&files);
        return good;
}

static bool remove_entry(int store, const char *name, struct error *error)
{
        static const char *const kinds[] = {"npm:", "uv:"};
        int removed = -ENOENT;
        for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && removed == -ENOENT; i++) {
                autofree char *full = str_format("%s%s", strchr(name, ':') ? "" : kinds[i], name);
                autofree char *file = fetch_name_encode(full);
                removed = file ? store_remove(store, file) : -ENOENT;
                if (removed == 0)
                        printf("%s: removed\n", error_shown(full));
        }
        return removed == 0 ||
               error_set(error, 1, "cannot remove %s: %s", error_shown(name),
                         removed == -ENOENT ? "there is no such entry; `hutch fetch --list` shows them"
                                            : strerror(-removed));
}

/* ---- the subcommand ---- */

static bool check_words(const struct options *options, struct error *error)
{
        int actions = options->list + options->verify + (options->remove != NULL) + options->update;
        bool command = options->command.count > 0;
        if (actions > 1)
                return error_set(error, EXIT_USAGE,
                                 "--list, --verify, --remove and --update exclude one another");
        if (!command && actions == 0)
                return error_set(error, EXIT_USAGE, "no command: -- and the command are missing");
        if (command && (options->list || options->remove))
                return error_set(error, EXIT_USAGE, "%s takes no command",
                                 options->list ? "--list" : "--remove");
        return true;
}

int fetch(const struct options *options, struct error *error)
{
        if (!check_words(options, error))
                return error->status;
        bool makes = options->command.count > 0 && !options->verify;
        autoclose int store = store_open(STORE_PACKAGES, makes);
        bool done;
        if (store == -ENOENT && !makes) {
                done = (!options->remove && options->command.count == 0) ||
                       error_set(error, 1, "nothing was fetched yet");
        } else if (store < 0) {
                done = refuse_store(store, error);
        } else {
                if (!options->list)
                        store_sweep(STORE_PACKAGES, store);
                done = options->list     ? visit(store, options, list_entry, error)
                       : options->verify ? visit(store, options, verify_entry, error)
                       : options->remove ? remove_entry(store, options->remove, error)
                       : options->update && options->command.count == 0
                           ? visit(store, options, update_entry, error)
                           : fetch_entry(store, options, error);
                /* The update still held the entries that it replaced. */
                if (options->update)
                        store_sweep(STORE_PACKAGES, store);
        }
        if (done && fflush(stdout) != 0)
                done = error_set(error, 1, "cannot write to standard output: %s", strerror(errno));
        return done ? 0 : error->status;
}
