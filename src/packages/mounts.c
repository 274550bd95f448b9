/* SPDX-License-Identifier: Apache-2.0
 *
 * See mounts.h. Hostile programs wrote the cache in an entry: this module mounts it and never looks into it.
 * The variables with which a server finds its packages come from entry.json, which hutch wrote.
 */
#include "packages/mounts.h"

#include "command/search.h"
#include "grants/mounts.h"
#include "lib/fd.h"
#include "lib/homes.h"
#include "lib/messages.h"
#include "lib/own_directory.h"
#include "lib/path_walk.h"
#include "packages/entry.h"
#include "packages/project.h"
#include "packages/request.h"
#include "packages/store.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* The path of a tool's cache in a home. */
static const char *cache_name(enum fetch_tool tool)
{
        return tool != FETCH_NPM ? ".cache/uv" : ".npm";
}

/* The place inside of a tool's cache. */
static char *cache_place(const struct box *box, enum fetch_tool tool)
{
        autofree char *home = mounts_follow_inside(box, box->home);
        return path_join(home, cache_name(tool));
}

/* True when the sandbox may reach every registry that the entry came from. */
static bool may_reach(const struct box *box, const struct entry *entry)
{
        for (size_t i = 0; i < entry->registries.count; i++) {
                const char *text = entry->registries.values[i], *colon = strrchr(text, ':');
                autofree char *host = str_copy_n(text, colon ? (size_t)(colon - text) : strlen(text));
                uint64_t port;
                if (!colon || !str_read_number(colon + 1, UINT16_MAX, &port) ||
                    rules_judge_name(&box->network.rules, host, (uint16_t)port, TRANSPORT_TCP) !=
                        VERDICT_ALLOWED)
                        return false;
        }
        return entry->registries.count > 0;
}

static void add_environment(struct box *box, enum fetch_tool tool, const struct entry *entry)
{
        struct str_list *environment = &box->environment;
        bool online = may_reach(box, entry);
        for (size_t i = 0; i < entry->environment.count; i++)
                str_list_add(environment, entry->environment.values[i]);
        if (tool != FETCH_NPM) {
                str_list_add(environment, "UV_PYTHON_DOWNLOADS=never");
                if (!online)
                        str_list_add(environment, "UV_OFFLINE=1");
                return;
        }
        str_list_add(environment, online ? "npm_config_prefer_offline=true" : "npm_config_offline=true");
        str_list_add(environment, "npm_config_fetch_retries=0");
        str_list_add(environment, "npm_config_audit=false");
        str_list_add(environment, "npm_config_fund=false");
        str_list_add(environment, "npm_config_logs_max=0");
}

static bool add_entry(const struct resolver *resolver, enum fetch_tool tool, const char *name, int descriptor,
                      struct package_mounts *use)
{
        struct box *box = resolver->box;
        autofree char *directory = real_path_of_descriptor(descriptor);
        autofree char *cache = path_join(directory ? directory : "/", "cache");
        autofree char *place = cache_place(box, tool);
        autofree char *why = str_format("packages of %s, which were fetched", name);
        if (!entry_read(descriptor, name, &use->entry, resolver->error) ||
            !mounts_add_bind(resolver, cache, place, false, (struct mount_reason){ORIGIN_PACKAGES, why}))
                return false;
        /* The server's own writes to the cache vanish at its end. */
        box->mounts[box->mount_count - 1].kind = MOUNT_OVERLAY;
        add_environment(box, tool, &use->entry);
        use->source = cache;
        cache = NULL;
        use->place = path_join(box->home, cache_name(tool));
        return true;
}

void package_mounts_release(struct package_mounts *use)
{
        entry_free(&use->entry);
        free(use->source);
        free(use->place);
        *use = (struct package_mounts){0};
}

/* True for packages that npm finds without a registry, because they are installed beside it. */
static bool is_installed_globally(const struct toolchain *toolchain, const struct fetch_request *request)
{
        if (request->tool != FETCH_NPM)
                return false;
        autofree char *directory = path_parent(toolchain->executable);
        autofree char *prefix = path_parent(directory);
        const char *const prefixes[] = {prefix, "/usr/local", "/usr"};
        for (size_t i = 0; i < request->packages.count; i++) {
                bool found = false;
                for (size_t j = 0; j < sizeof(prefixes) / sizeof(*prefixes) && !found; j++) {
                        autofree char *file = str_format("%s/lib/node_modules/%s/package.json", prefixes[j],
                                                         request->packages.values[i]);
                        found = access(file, F_OK) == 0;
                }
                if (!found)
                        return false;
        }
        return true;
}

/* Refuses a program that an earlier run of the server may have made. */
static bool check_own(const struct resolver *resolver, const char *path)
{
        bool by_link;
        const struct mount *author = mounts_find_author(resolver, path, &by_link);
        return !author ||
               error_set(resolver->error, EXIT_SETUP,
                         "refusing to fetch: a program of %s would run outside the sandbox, and the server "
                         "may have put it there, since %s is writable; fetch once without that grant: hutch "
                         "fetch -- COMMAND",
                         path, author->source);
}

/* A fetch runs the user's own npm or uv, outside the sandbox, to ask for its configuration. An earlier run of
 * the server must not have made anything that this starts: the command, the programs on PATH, and the files
 * that they lead to. */
static bool check_programs(const struct resolver *resolver, const struct toolchain *toolchain)
{
        struct box *box = resolver->box;
        static const char *const programs[] = {"", "npm", "npx", "node", "uv", "uvx", "env", "sh"};
        const char *path = getenv("PATH") ? getenv("PATH") : SEARCH_SYSTEM_PATH;
        if (!mounts_any_writable(box))
                return true;
        autofree char *directory = path_parent(toolchain->executable);
        autofree char *all = str_format("%s:%s", directory, path);
        char *rest = all;
        for (char *part; (part = strsep(&rest, ":"));) {
                autofree char *place = path_join(caller_homes()->spelled, part);
                for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
                        autofree char *program = path_join(place, programs[i]);
                        if (!check_own(resolver, program))
                                return false;
                }
        }
        return check_own(resolver, toolchain->executable);
}

/* Decides about a missing entry: hutch fetches it first, leaves it to the command, or reports it. */
static bool handle_missing(const struct resolver *resolver, const struct toolchain *toolchain,
                           const struct fetch_request *request, const char *name)
{
        struct box *box = resolver->box;
        const struct options *options = resolver->options;
        bool consents = request->consents || options->fetch == OPTION_FETCH_ALWAYS;
        bool project = request->tool == FETCH_UV_PROJECT;
        const char *directory = request->packages.values[0];
        autofree char *shown =
            project ? str_format("the environment of %s, which has no .venv,", error_shown(directory))
                    : str_copy(error_shown(strchr(name, ':') + 1));
        if (options->fetch != OPTION_FETCH_NEVER && consents) {
                if (project)
                        message("note: %s has no .venv; hutch makes an environment for it outside the "
                                "project; to "
                                "use one in the project, run `uv sync` there",
                                error_shown(directory));
                if (options->dry_run)
                        message("note: %s is not here yet and would be fetched first", shown);
                box->fetch_first = !options->dry_run && check_programs(resolver, toolchain);
                return options->dry_run;
        }
        /* With a network, the command may reach a registry itself; a dry run only describes. */
        if (box_has_network(box) || options->dry_run)
                return true;
        autofree char *line = fetch_line(&box->argv);
        return error_set(resolver->error, EXIT_SETUP, "%s is not here, %s; fetch it once with: %s", shown,
                         consents ? "and --fetch never keeps it from being fetched"
                                  : "and the command asks before it downloads, which nobody could answer",
                         error_shown(line));
}

static bool use_entry(const struct resolver *resolver, const struct toolchain *toolchain,
                      const struct fetch_request *request, struct package_mounts *use)
{
        autofree char *name = fetch_request_name(request);
        autofree char *file = fetch_name_encode(name);
        autoclose int store = file ? store_open(STORE_PACKAGES, false) : -ENAMETOOLONG;
        autoclose int entry = store < 0 ? store : store_open_entry(STORE_PACKAGES, store, file);
        if (entry >= 0 && request->tool == FETCH_UV_PROJECT &&
            !package_project_is_current(entry, request->packages.values[0]))
                return handle_missing(resolver, toolchain, request, name);
        if (entry < 0) {
                if (!file || entry == -ENOENT)
                        return handle_missing(resolver, toolchain, request, name);
                return error_set(resolver->error, EXIT_SETUP,
                                 "cannot look for %s in hutch's data directory: %s", error_shown(name),
                                 own_directory_explain(entry));
        }
        if (!add_entry(resolver, request->tool, name, entry, use))
                return false;
        (void)fd_take(&entry); /* its lock ends with this process, which outlives the server */
        return true;
}

/* Reads the request of `uv run`, only for a project that the sandbox shows. */
static void read_project(const struct resolver *resolver, struct fetch_request *request)
{
        if (package_project_request(resolver, &resolver->toolchain->command, request) &&
            !mounts_show(resolver->box, request->packages.values[0]))
                fetch_request_free(request);
}

bool package_mounts_add(const struct resolver *resolver)
{
        struct toolchain *toolchain = resolver->toolchain;
        struct package_mounts *use = resolver->packages;
        struct box *box = resolver->box;
        struct fetch_request request = {0};
        if (toolchain->missing)
                fetch_request_read(&toolchain->command, &request);
        else
                read_project(resolver, &request);
        bool wanted = request.tool != FETCH_NONE && !is_installed_globally(toolchain, &request);
        if (wanted) {
                /* A user who grants their own cache means that one. */
                autofree char *place = cache_place(box, request.tool);
                const struct mount *holder = box_find_mount(box, place);
                wanted = holder && (holder->kind == MOUNT_MEMORY || holder->origin == ORIGIN_PERSIST);
        }
        bool added = !wanted || use_entry(resolver, toolchain, &request, use);
        if (use->source)
                toolchain->fetches = false;
        fetch_request_free(&request);
        return added;
}
