/* SPDX-License-Identifier: Apache-2.0
 *
 * See fetch.h. The order matters: hutch records what npm downloaded before any install script runs. From then
 * on hostile programs have written to the directory, and hutch only takes one digest of it.
 */
#include "fetch/fetch.h"

#include "box/box.h"
#include "command/search.h"
#include "fetch/npm.h"
#include "fetch/plan.h"
#include "fetch/project.h"
#include "fetch/sandbox.h"
#include "fetch/tree_digest.h"
#include "lib/fd.h"
#include "lib/homes.h"
#include "lib/messages.h"
#include "lib/own_directory.h"
#include "packages/entry.h"
#include "packages/project.h"
#include "packages/request.h"
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
static void begin_npm(const struct str_list *command, struct str_list *words)
{
        const char *first = command->values[0], *slash = strrchr(first, '/');
        str_list_take(words,
                      slash ? str_format("%.*snpm", (int)(slash + 1 - first), first) : str_copy("npm"));
}

static bool download_npm(int cache, const struct fetch_request *request, const struct fetch_plan *plan,
                         const struct options *options, struct error *error)
{
        struct str_list words = {0};
        begin_npm(&options->command, &words);
        str_list_add(&words, "exec");
        str_list_add(&words, "--yes");
        str_list_add(&words, "--ignore-scripts");
        /* A variable cannot have the name "npm_config_@scope:registry". */
        for (size_t i = 0; i < plan->environment.count; i++) {
                const char *setting = plan->environment.values[i];
                if (!str_is_variable_name(setting, strcspn(setting, "=")))
                        str_list_take(&words, str_format("--%s", setting + strlen("npm_config_")));
        }
        for (size_t i = 0; i < request->packages.count; i++)
                str_list_take(&words, str_format("--package=%s", request->packages.values[i]));
        str_list_add(&words, "--");
        str_list_add(&words, "/bin/true"); /* a package may contain a program named `true` */
        autofree char *home = box_choose_home();
        bool done = fetch_sandbox_run(cache, FETCH_NPM, plan, &words, home, options, error);
        str_list_free(&words);
        return done;
}

static bool run_scripts(int cache, const char *directory, const struct fetch_plan *plan,
                        const struct options *options, struct error *error)
{
        struct str_list words = {0};
        begin_npm(&options->command, &words);
        str_list_add(&words, "rebuild");
        autofree char *place = fetch_sandbox_place(FETCH_NPM);
        autofree char *cwd = str_format("%s/_npx/%s", place, directory);
        bool done = fetch_sandbox_run(cache, FETCH_NPM, plan, &words, cwd, options, error);
        str_list_free(&words);
        return done;
}

static bool fetch_npm(int cache, const struct fetch_request *request, const struct options *options,
                      struct fetch_plan *plan, struct entry *entry, struct error *error)
{
        autofree char *directory = NULL;
        bool scripts;
        if (!plan_read_npm(plan, &options->command, options->min_age_days, error))
                return false;
        str_list_add_all(&entry->environment, &plan->environment);
        str_list_add(&plan->environment, "npm_config_script_shell=/bin/sh");
        str_list_add(&plan->environment, "npm_config_logs_max=0");
        str_list_add(&plan->environment, "npm_config_audit=false");
        str_list_add(&plan->environment, "npm_config_fund=false");
        str_list_add(&plan->environment, "npm_config_fetch_retries=1");
        str_list_add(&plan->environment, "npm_config_loglevel=error");
        return download_npm(cache, request, plan, options, error) &&
               npm_read_packages(cache, request->packages.values[0], entry, &directory, &scripts, error) &&
               (!scripts || plan->no_scripts || run_scripts(cache, directory, plan, options, error));
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
static void find_environment(int cache, struct entry *entry)
{
        autofree char *text = NULL, *place = fetch_sandbox_place(FETCH_UV);
        autoclose int file = openat(cache, WHERE_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        ssize_t length = file < 0 ? -1 : fd_read_all(file, PATH_MAX, &text);
        (void)unlinkat(cache, WHERE_FILE, 0);
        size_t front = strlen(place) + 1;
        autofree char *normal = length > 0 && text[0] == '/' ? path_join("/", text) : NULL;
        if (normal && strlen(text) == (size_t)length && strlen(normal) > front &&
            path_is_below(normal, place))
                entry->directory = str_format("%s/bin", normal + front);
}

/* The environment's Python runs no code of the package for this. */
static bool fetch_uv(int cache, const struct fetch_request *request, const struct options *options,
                     struct fetch_plan *plan, struct entry *entry, struct error *error)
{
        const char *first = options->command.values[0];
        struct str_list words = {0};
        if (!plan_read_uv(plan, &options->command, options->min_age_days, error))
                return false;
        str_list_add_all(&entry->environment, &plan->environment);
        str_list_add(&words, first);
        size_t length = strlen(first);
        if (length < 3 || !str_equal(first + length - 3, "uvx")) {
                str_list_add(&words, "tool");
                str_list_add(&words, "run");
        }
        str_list_add(&words, "--from");
        str_list_take(&words, requirement(request->packages.values[0]));
        for (size_t i = 1; i < request->packages.count; i++) {
                const char *package = request->packages.values[i];
                if (package[0] != '-')
                        str_list_add(&words, "--with");
                str_list_add(&words, package);
        }
        str_list_add(&words, "python");
        str_list_add(&words, "-c");
        str_list_add(&words, say_where);
        str_list_add(&plan->environment, "UV_PYTHON_DOWNLOADS=never");
        autofree char *home = box_choose_home();
        bool done = fetch_sandbox_run(cache, FETCH_UV, plan, &words, home, options, error);
        if (done)
                find_environment(cache, entry);
        str_list_free(&words);
        return done;
}

/* ---- one entry ---- */

static void copy_command(struct entry *entry, const struct fetch_request *request,
                         const struct str_list *command)
{
        if (request->tool != FETCH_UV_PROJECT) {
                str_list_add_all(&entry->command, command);
                return;
        }
        /* The same from any working directory. */
        str_list_add(&entry->command, command->values[0]);
        str_list_add(&entry->command, "--directory");
        str_list_add(&entry->command, request->packages.values[0]);
        str_list_add(&entry->command, "run");
        str_list_add(&entry->command, "python");
}

static bool fetch_packages(int cache, const struct fetch_request *request, const struct options *options,
                           struct fetch_plan *plan, struct entry *entry, struct error *error)
{
        switch (request->tool) {
        case FETCH_UV:
                return fetch_uv(cache, request, options, plan, entry, error);
        case FETCH_UV_PROJECT:
                return fetch_project(cache, request, options, plan, entry, error);
        case FETCH_NPM:
        case FETCH_NONE:
                break;
        }
        return fetch_npm(cache, request, options, plan, entry, error);
}

/* Removes what earlier versions of hutch kept of a project: their names ended with 16 digits of a hash. */
static void remove_earlier(int store, const struct fetch_request *request)
{
        struct str_list files = {0};
        autofree char *front = str_format("uv:%s#", request->packages.values[0]);
        store_list(STORE_PACKAGES, store, &files);
        for (size_t i = 0; i < files.count; i++) {
                autofree char *name = fetch_name_decode(files.values[i]);
                const char *digits = str_starts(name, front) ? name + strlen(front) : "";
                if (strlen(digits) == 16 && strspn(digits, "0123456789abcdef") == 16)
                        (void)store_remove(store, files.values[i]);
        }
        str_list_free(&files);
}

/* Fills an unfinished entry. */
static bool fill(int directory, const struct fetch_request *request, const char *name,
                 const struct options *options, struct error *error)
{
        if (mkdirat(directory, "cache", 0700) < 0)
                return error_set(error, EXIT_SETUP, "cannot make a directory: %s", strerror(errno));
        autoclose int cache = openat(directory, "cache", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct fetch_plan plan = {0};
        struct entry entry = {.name = str_copy(name), .fetched = time(NULL)};
        char digest[SHA512_DIGEST_STRING_LENGTH];
        /* Before uv reads them: a list that changes meanwhile makes the entry count as missing. */
        int kept = request->tool == FETCH_UV_PROJECT
                       ? package_project_keep(directory, request->packages.values[0])
                       : 0;
        bool done =
            kept == 0 ? fetch_packages(cache, request, options, &plan, &entry, error)
                      : error_set(error, EXIT_SETUP, "cannot copy the project's lists: %s", strerror(-kept));
        if (done && tree_digest(cache, digest, error)) {
                entry.digest = str_copy(digest);
                copy_command(&entry, request, &options->command);
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

static bool fetch_entry(int store, const struct options *options, struct error *error)
{
        struct fetch_request request;
        package_request_read(&options->command, &request);
        autofree char *name = request.tool == FETCH_NONE ? NULL : fetch_request_name(&request);
        autofree char *file = name ? fetch_name_encode(name) : NULL;
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
        bool done = file && !options->update && has_entry(store, file, &request);
        if (done)
                printf("%s: fetched already%s; --update fetches it again\n", name,
                       options->min_age_days ? " (its age was not checked)" : "");
        bool begins = file && !done && check_command(options->command.values[0], error);
        int directory = begins ? store_begin(store, file, say_waiting) : -1;
        if (directory == -EEXIST && !has_entry(store, file, &request)) {
                error_set(error, EXIT_SETUP, "another hutch was fetching %s and did not finish; try again",
                          error_shown(name));
        } else if (directory == -EEXIST ||
                   (directory >= 0 && !options->update && has_entry(store, file, &request))) {
                done = true; /* another process was faster */
                if (directory >= 0)
                        store_abandon(store, file);
        } else if (directory >= 0) {
                struct error failure = {0};
                done =
                    fill(directory, &request, name, options, &failure) ||
                    error_set(error, failure.status, "%s: %s%s", error_shown(name), failure.text,
                              has_entry(store, file, &request) ? "; the entry that exists is unchanged" : "");
                int committed = done ? store_commit(store, file) : 0;
                if (committed < 0)
                        done = error_set(error, EXIT_SETUP, "cannot rename %s to its final name: %s", name,
                                         strerror(-committed));
                if (!done)
                        store_abandon(store, file);
                else if (request.tool == FETCH_UV_PROJECT)
                        remove_earlier(store, &request);
        } else if (begins) {
                error_set(error, EXIT_SETUP, "cannot make a directory for %s: %s", name,
                          own_directory_explain(directory));
        }
        if (directory >= 0)
                close(directory);
        fetch_request_free(&request);
        return done;
}

/* ---- all entries ---- */

typedef bool entry_visitor(int store, const char *file, const char *name, int directory,
                           const struct entry *entry, const struct options *options, struct error *error);

static bool list_entry(int store, const char *file, const char *name, int directory,
                       const struct entry *entry, const struct options *options, struct error *error)
{
        (void)store, (void)file, (void)directory, (void)error;
        char date[16];
        struct tm local;
        time_t fetched = (time_t)entry->fetched;
        (void)strftime(date, sizeof(date), "%Y-%m-%d", localtime_r(&fetched, &local));
        printf("%s  %s", date, error_shown(name));
        for (size_t i = 0; i < entry->package_count; i++) {
                const struct entry_package *package = &entry->packages[i];
                /* The entry of the command, or all. */
                autofree char *asked = command_package_name(COMMAND_NPX, strchr(name, ':') + 1);
                if (options->verbose)
                        printf("\n            %s %s %s", error_shown(package->name),
                               error_shown(package->version), error_shown(package->integrity));
                else if (str_equal(asked, package->name))
                        printf("  %s", error_shown(package->version));
        }
        printf("\n");
        return true;
}

static bool verify_entry(int store, const char *file, const char *name, int directory,
                         const struct entry *entry, const struct options *options, struct error *error)
{
        (void)store, (void)file, (void)options;
        char digest[SHA512_DIGEST_STRING_LENGTH];
        struct error found = {0};
        autoclose int cache = openat(directory, "cache", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        bool good = cache >= 0 && tree_digest(cache, digest, &found);
        if (good && !str_equal(digest, entry->digest))
                good = error_set(&found, 1, "its files have changed since they were fetched");
        if (good && str_starts(name, "npm:"))
                good = npm_verify(cache, entry, &found);
        printf("%s: %s\n", error_shown(name),
               good            ? "as it was fetched"
               : found.text[0] ? found.text
                               : "its files are gone");
        return good ||
               error_set(error, 1,
                         "%s has changed since it was fetched; remove it, or fetch it again with --update",
                         error_shown(name));
}

static bool update_entry(int store, const char *file, const char *name, int directory,
                         const struct entry *entry, const struct options *options, struct error *error)
{
        (void)file, (void)name, (void)directory;
        struct options again = *options;
        again.command = entry->command;
        return fetch_entry(store, &again, error);
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
                bool done = directory >= 0 ? entry_read(directory, name, &entry, &failure) &&
                                                 visitor(store, files.values[i], name, directory, &entry,
                                                         options, &failure)
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
        autofree char *spelled = strchr(name, ':') ? str_copy(name) : str_format("npm:%s", name);
        autofree char *file = fetch_name_encode(spelled);
        int removed = file ? store_remove(store, file) : -ENOENT;
        if (removed == -ENOENT && !strchr(name, ':')) {
                autofree char *other = str_format("uv:%s", name);
                free(file);
                file = fetch_name_encode(other);
                removed = file ? store_remove(store, file) : -ENOENT;
        }
        autofree char *found = removed == 0 ? fetch_name_decode(file) : NULL;
        if (found)
                printf("%s: removed\n", error_shown(found));
        return found ||
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
