/* SPDX-License-Identifier: Apache-2.0
 *
 * What a sandbox gets of hutch's data directory: an entry, the directory of a fetch, the home of --persist;
 * and what happens when an entry is missing.
 */
#include "packages/mounts.h"
#include "packages/persist.h"
#include "packages/project.h"

#include "grants/mounts.h"
#include "lib/homes.h"
#include "lib/messages.h"
#include "packages/entry.h"
#include "packages/store.h"
#include "tree_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct box box;
static struct held_sources held;
static struct options options;
static struct toolchain toolchain;
static struct package_mounts use;
static struct error error;
static struct heard heard;

/* An empty box with a home in memory at T/home; npx is in T/bin. */
static int set_up(void **state)
{
        if (tree_set_up(state) != 0)
                return -1;
        autofree char *data = tree_path("T/data"), *path = tree_path("T/bin");
        setenv("XDG_DATA_HOME", data, 1);
        setenv("PATH", path, 1);
        box = (struct box){.home = tree_path("T/home")};
        box_add_mount(&box, &(struct mount){.kind = MOUNT_MEMORY,
                                            .destination = tree_path("T/home"),
                                            .why = str_copy("base")});
        options = (struct options){0};
        toolchain =
            (struct toolchain){.executable = tree_path("T/bin/npx"), .missing = true, .fetches = true};
        tree_make_file("T/bin/npx", "#!/bin/sh\n", 0755);
        heard = (struct heard){""};
        error = (struct error){0};
        messages_send_to(hear, &heard);
        return 0;
}

static int tear_down(void **state)
{
        messages_send_to(NULL, NULL);
        package_mounts_release(&use);
        toolchain_free(&toolchain);
        held_sources_release(&held);
        box_free(&box);
        return tree_tear_down(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* Without memory of what an earlier call walked. */
static struct resolver *make_resolver(void)
{
        struct resolver *resolver = tree_resolver(NULL);
        held_sources_release(&held);
        resolver->options = &options;
        resolver->box = &box;
        resolver->held = &held;
        resolver->toolchain = &toolchain;
        resolver->packages = &use;
        resolver->error = &error;
        return resolver;
}

/* Adds the packages that the command needs. */
static bool add(const char *command)
{
        package_mounts_release(&use);
        str_list_free(&box.argv);
        box.argv = tree_words(command);
        command_free(&toolchain.command);
        command_read(&box.argv, &toolchain.command);
        box.fetch_first = false;
        error = (struct error){0};
        heard = (struct heard){""};
        return package_mounts_add(make_resolver());
}

static void assert_failed(const char *part)
{
        if (error.status != EXIT_SETUP || !strstr(error.text, part))
                fail_msg("%d \"%s\", not \"%s\"", error.status, error.text, part);
        assert_false(box.fetch_first);
}

/* An entry with a cache, from this registry (or none), and one variable. */
static void make_entry(const char *name, const char *registry)
{
        struct entry entry = {.name = str_copy(name), .digest = str_copy("d")};
        autofree char *file = fetch_name_encode(name);
        autoclose int store = store_open(STORE_PACKAGES, true);
        autoclose int directory = store_begin(store, file, NULL);
        assert_true(directory >= 0);
        str_list_add(&entry.command, "npx");
        str_list_add(&entry.environment, "FOUND=here");
        if (registry)
                str_list_add(&entry.registries, registry);
        assert_int_equal(mkdirat(directory, "cache", 0700), 0);
        assert_true(entry_write(directory, &entry, &error));
        assert_int_equal(store_commit(store, file), 0);
        entry_free(&entry);
}

static void allow(const char *destination)
{
        assert_true(destinations_add(&box.network.rules.allow, DESTINATION_ALLOW, destination, &error));
}

/* Takes the mounts after the first `count` away. */
static void keep_mounts(size_t count)
{
        for (size_t i = count; i < box.mount_count; i++) {
                free(box.mounts[i].source);
                free(box.mounts[i].destination);
                free(box.mounts[i].why);
        }
        box.mount_count = count;
}

static const struct mount *last_mount(void)
{
        return &box.mounts[box.mount_count - 1];
}

/* ---- an entry that is there ---- */

static void test_entry_of_npm(void **state)
{
        (void)state;
        make_entry("npm:hello", "registry.test:443");
        assert_true(add("npx -y hello"));
        assert_int_equal(box.mount_count, 2);
        assert_int_equal(last_mount()->kind, MOUNT_OVERLAY);
        assert_found(str_copy(last_mount()->source), "T/data/hutch/packages/npm%3ahello/cache");
        assert_found(str_copy(last_mount()->destination), "T/home/.npm");
        assert_false(mount_is_grant(last_mount()));
        assert_found(str_copy(use.source), "T/data/hutch/packages/npm%3ahello/cache");
        assert_found(str_copy(use.place), "T/home/.npm");
        assert_false(toolchain.fetches || box.fetch_first);
        assert_list(&box.environment,
                    LIST("FOUND=here", "npm_config_offline=true", "npm_config_fetch_retries=0",
                         "npm_config_audit=false", "npm_config_fund=false", "npm_config_logs_max=0"));
        package_mounts_release(&use);
        assert_null(use.source);
}

static void test_entry_of_uv(void **state)
{
        (void)state;
        make_entry("uv:hello", "registry.test:443");
        assert_true(add("uvx hello"));
        assert_found(str_copy(last_mount()->destination), "T/home/.cache/uv");
        assert_found(str_copy(use.place), "T/home/.cache/uv");
        assert_list(&box.environment, LIST("FOUND=here", "UV_PYTHON_DOWNLOADS=never", "UV_OFFLINE=1"));
}

/* Only a sandbox that may reach every registry of the entry may ask there. */
static void test_registries_in_reach(void **state)
{
        (void)state;
        static const struct {
                const char *registry, *allowed;
                bool online;
        } cases[] = {
            {"registry.test:443", "registry.test:443", true},
            {"registry.test:443", "registry.test:8443", false},
            {"registry.test:443", "other.test:443", false},
            {"registry.test", "registry.test:443", false},
            {NULL, "registry.test:443", false},
        };
        for (size_t i = 0; i < COUNT(cases); i++) {
                static const char *const kinds[][3] = {
                    {"npm:hello%zu", "npx hello%zu", "npm_config_prefer_offline=true"},
                    {"uv:hello%zu", "uvx hello%zu", NULL}};
                for (size_t j = 0; j < COUNT(kinds); j++) {
                        autofree char *name = str_format("%s%zu", j ? "uv:hello" : "npm:hello", i);
                        autofree char *command = str_format("%s%zu", j ? "uvx hello" : "npx hello", i);
                        make_entry(name, cases[i].registry);
                        network_free(&box.network);
                        allow(cases[i].allowed);
                        str_list_free(&box.environment);
                        keep_mounts(1);
                        assert_true(add(command));
                        bool offline =
                            str_list_has(&box.environment, j ? "UV_OFFLINE=1" : "npm_config_offline=true");
                        assert_int_equal(offline, !cases[i].online);
                        if (!j)
                                assert_int_equal(str_list_has(&box.environment, kinds[j][2]),
                                                 cases[i].online);
                }
        }
}

static void test_user_grants_that_replace_an_entry(void **state)
{
        (void)state;
        make_entry("npm:hello", NULL);
        /* The user's own cache, or a cache in a home that the user grants, is the one that they mean. */
        tree_make_directory("T/home/.npm");
        tree_add_grant(&box, "T/home/.npm", true, "--rw");
        assert_true(add("npx hello"));
        assert_null(use.source);
        assert_true(toolchain.fetches);
        box.mounts[1].origin = ORIGIN_PERSIST;
        assert_true(add("npx hello"));
        assert_non_null(use.source);
}

static void test_packages_beside_npm(void **state)
{
        (void)state;
        make_entry("npm:hello", NULL);
        make_entry("npm:a hello", NULL);
        make_entry("uv:hello", NULL);
        tree_make_file("T/lib/node_modules/hello/package.json", "{}", 0644);
        assert_true(add("npx hello"));
        assert_null(use.source);
        /* All of them have to be there, and uv does not look there. */
        assert_true(add("npx -p hello -p a x"));
        assert_non_null(use.source);
        assert_true(add("uvx hello"));
        assert_non_null(use.source);
}

static void test_what_is_not_asked_for(void **state)
{
        (void)state;
        make_entry("npm:hello", NULL);
        assert_true(add("node hello.js"));
        assert_null(use.source);
        /* The toolchain has found the package elsewhere. */
        toolchain.missing = false;
        assert_true(add("npx hello"));
        assert_null(use.source);
        assert_int_equal(box.mount_count, 1);
}

static void test_entries_that_cannot_be_used(void **state)
{
        (void)state;
        make_entry("npm:hello", NULL);
        tree_set_mode("T/data/hutch/packages/npm%3ahello/entry.json", 0600);
        tree_make_file("T/data/hutch/packages/npm%3ahello/entry.json", "{}", 0600);
        assert_false(add("npx hello"));
        assert_failed("the entry of npm:hello cannot be read");
        tree_set_mode("T/data/hutch/packages/npm%3ahello", 0755);
        assert_false(add("npx hello"));
        assert_failed("cannot look for npm:hello in hutch's data directory: it must belong to this account "
                      "and have mode 0700");
        tree_set_mode("T/data/hutch", 0755);
        assert_false(add("npx hello"));
        assert_failed("it must belong to this account");
}

/* ---- an entry that is missing ---- */

static void test_missing_entries(void **state)
{
        (void)state;
        static const struct {
                const char *command;
                enum option_fetch fetch;
                bool dry_run, network;
                bool result, first;
                const char *said; /* of the error or the note */
        } cases[] = {
            {"npx -y hello", OPTION_FETCH_AUTO, false, false, false, true, NULL},
            {"npx hello", OPTION_FETCH_ALWAYS, false, false, false, true, NULL},
            {"uvx hello", OPTION_FETCH_AUTO, false, true, false, true, NULL},
            {"npx -y hello", OPTION_FETCH_AUTO, true, false, true, false,
             "hello is not here yet and would be fetched first"},
            {"npx hello", OPTION_FETCH_AUTO, false, false, false, false,
             "hello is not here, and the command asks before"},
            {"npx -y hello", OPTION_FETCH_NEVER, false, false, false, false,
             "hello is not here, and --fetch never"},
            {"npx hello", OPTION_FETCH_NEVER, false, false, false, false, "the command asks before"},
            {"npx hello", OPTION_FETCH_AUTO, false, true, true, false, ""},
            {"npx -y hello", OPTION_FETCH_NEVER, false, true, true, false, ""},
            {"npx hello", OPTION_FETCH_AUTO, true, false, true, false, ""},
        };
        for (size_t i = 0; i < COUNT(cases); i++) {
                options.fetch = cases[i].fetch;
                options.dry_run = cases[i].dry_run;
                box.network.host_port_count = cases[i].network;
                bool added = add(cases[i].command);
                box.network.host_port_count = 0;
                if (added != cases[i].result || box.fetch_first != cases[i].first)
                        fail_msg("case %zu: %d, %d: %s", i, added, box.fetch_first, error.text);
                assert_int_equal(error.status, !added && !box.fetch_first ? EXIT_SETUP : 0);
                assert_true(toolchain.fetches);
                if (cases[i].said && cases[i].said[0])
                        assert_non_null(strstr(added ? heard.text : error.text, cases[i].said));
                else
                        assert_string_equal(heard.text, "");
        }
        options = (struct options){0};
        assert_false(add("npx hello"));
        assert_non_null(strstr(error.text, "fetch it once with: hutch fetch -- npx hello"));
        /* A name too long for a file has no entry. */
        char name[64];
        memset(name, 'x', sizeof(name) - 1);
        name[sizeof(name) - 1] = 0;
        autofree char *longest = str_format("npx -p %s -p %s -p %s -p %s tool", name, name, name, name);
        assert_false(add(longest));
        assert_failed("is not here");
}

/* A fetch runs programs outside the sandbox: none of them may be the server's work. */
static void test_programs_of_a_fetch(void **state)
{
        (void)state;
        autofree char *executable = tree_path("T/other/bin/npx");
        tree_make_file("T/caller/file", "", 0644);
        tree_make_file("T/tools/npm", "", 0755);
        tree_make_file("T/other/bin/npx", "", 0755);
        autofree char *path = tree_path("T/bin:T/tools");
        setenv("PATH", path, 1);
        tree_add_grant(&box, "T/caller", true, "--rw");
        assert_false(add("npx -y hello"));
        assert_true(box.fetch_first && error.status == 0);
        /* A directory of PATH, one of the programs in it, or what it leads to is writable. */
        static const struct {
                const char *grant, *link, *text;
        } cases[] = {
            {"T/tools", NULL, NULL},
            {"T/caller", "T/tools/node", "../caller/file"},
            {"T/bin", NULL, NULL},
            {"T/caller", "T/caller/out", "../tools/npm"},
        };
        for (size_t i = 0; i < COUNT(cases); i++) {
                keep_mounts(1);
                tree_add_grant(&box, cases[i].grant, true, "--rw");
                if (cases[i].link)
                        tree_make_link(cases[i].link, cases[i].text);
                if (i == 3) {
                        autofree char *in_work = tree_path("T/bin");
                        setenv("PATH", in_work, 1);
                        tree_make_link("T/bin/uv", "../caller/out");
                }
                assert_false(add("npx -y hello"));
                assert_failed("refusing to fetch: a program of");
                if (cases[i].link)
                        tree_remove_file(cases[i].link);
        }
        tree_remove_file("T/bin/uv");
        /* The command itself, and its directory, which need not be on PATH. */
        free(toolchain.executable);
        toolchain.executable = str_copy(executable);
        keep_mounts(1);
        assert_false(add("npx -y hello"));
        assert_true(box.fetch_first);
        tree_add_grant(&box, "T/other", true, "--rw");
        assert_false(add("npx -y hello"));
        assert_failed("refusing to fetch");
        keep_mounts(1);
        autofree char *odd = tree_path("T/other/bin/odd");
        tree_make_link("T/other/bin/odd", "../../caller/file");
        free(toolchain.executable);
        toolchain.executable = str_copy(odd);
        tree_add_grant(&box, "T/caller", true, "--rw");
        assert_false(add("npx -y hello"));
        assert_failed("refusing to fetch");
        /* Reading is no harm. */
        keep_mounts(1);
        tree_add_grant(&box, "T/other", false, "--ro");
        assert_false(add("npx -y hello"));
        assert_true(box.fetch_first);
}

/* ---- projects of uv ---- */

static void test_projects(void **state)
{
        (void)state;
        toolchain.missing = false;
        tree_make_file("T/p/pyproject.toml", "", 0644);
        assert_true(add("uv --directory T/p run x"));
        assert_false(box.fetch_first);
        tree_add_grant(&box, "T/p", false, "program of the command");
        assert_false(add("uv --directory T/p run x"));
        assert_true(box.fetch_first);
        assert_non_null(
            strstr(heard.text, "has no .venv; hutch makes an environment for it outside the project"));
        options.fetch = OPTION_FETCH_NEVER;
        assert_false(add("uv --directory T/p run x"));
        assert_failed("/p, which has no .venv, is not here, and --fetch never");
        assert_true(add("uv --directory T/p sync"));
}

static char *request_name(const char *words)
{
        struct fetch_request request;
        struct str_list list = tree_words(words);
        struct command command;
        char *name = NULL;
        command_read(&list, &command);
        if (package_project_request(tree_resolver(NULL), &command, &request)) {
                assert_int_equal(request.tool, FETCH_UV_PROJECT);
                assert_true(request.consents);
                name = fetch_request_name(&request);
        } else {
                assert_int_equal(request.tool, FETCH_NONE);
        }
        fetch_request_free(&request);
        command_free(&command);
        str_list_free(&list);
        return name;
}

static void test_requests_of_projects(void **state)
{
        (void)state;
        tree_make_file("T/p/pyproject.toml", "", 0644);
        tree_make_link("T/link", "p");
        assert_found(request_name("uv --directory T/p run x"), "uv:T/p");
        assert_found(request_name("uv --directory T/link run y"), "uv:T/p");
        assert_null(request_name("uv --directory T/p sync"));
        assert_null(request_name("npx x"));
}

/* Any change of the lists, and nothing else, makes the entry count as missing. */
static void test_changed_lists(void **state)
{
        (void)state;
        static const char *const files[][2] = {
            {"T/p/pyproject.toml", "a"}, {"T/p/uv.lock", "a"},   {"T/p/.python-version", "a"},
            {"T/p/uv.lock", ""},         {"T/p/uv.lock", "b c"}, {"T/p/pyproject.toml", ""},
        };
        autofree char *project = tree_path("T/p"), *name = tree_path("T/p");
        toolchain.missing = false;
        tree_make_file("T/p/pyproject.toml", "", 0644);
        tree_add_grant(&box, "T/p", false, "program of the command");
        for (size_t i = 0; i < COUNT(files); i++) {
                autofree char *entry = str_format("T/entry%zu", i);
                autofree char *path = tree_path(entry);
                tree_make_directory(entry);
                autoclose int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                assert_false(package_project_is_current(directory, project));
                assert_int_equal(package_project_keep(directory, project), 0);
                assert_true(package_project_is_current(directory, project));
                tree_make_file("T/p/other.py", files[i][1], 0644);
                assert_true(package_project_is_current(directory, project));
                tree_make_file(files[i][0], files[i][1], 0644);
                assert_false(package_project_is_current(directory, project));
                assert_int_equal(package_project_keep(directory, project), -EEXIST);
        }
        /* The same in a run: the entry is used until a list changes. */
        free(name);
        name = str_format("uv:%s", project);
        make_entry(name, NULL);
        assert_false(add("uv --directory T/p run x"));
        assert_true(box.fetch_first);
        autofree char *file = fetch_name_encode(name);
        autoclose int store = store_open(STORE_PACKAGES, true);
        autoclose int directory = store_open_entry(STORE_PACKAGES, store, file);
        assert_int_equal(package_project_keep(directory, project), 0);
        assert_true(add("uv --directory T/p run x"));
        assert_non_null(use.source);
        tree_make_file("T/p/uv.lock", "d", 0644);
        keep_mounts(2);
        assert_false(add("uv --directory T/p run x"));
        assert_true(box.fetch_first);
}

static enum fetch_tool read_request(const char *command)
{
        struct fetch_request request;
        struct str_list words = tree_words(command);
        package_request_read(&words, &request);
        enum fetch_tool tool = request.tool;
        fetch_request_free(&request);
        str_list_free(&words);
        return tool;
}

static void test_any_request(void **state)
{
        (void)state;
        tree_make_file("T/p/pyproject.toml", "", 0644);
        assert_int_equal(read_request("npx -y hello"), FETCH_NPM);
        assert_int_equal(read_request("uvx hello"), FETCH_UV);
        assert_int_equal(read_request("uv --directory T/p run x"), FETCH_UV_PROJECT);
        assert_int_equal(read_request("uv run x"), FETCH_NONE);
        autofree char *project = tree_path("T/p");
        assert_int_equal(chdir(project), 0);
        assert_int_equal(read_request("uv run x"), FETCH_UV_PROJECT);
        assert_int_equal(chdir("/"), 0);
        assert_int_equal(read_request("node x"), FETCH_NONE);
}

/* ---- --persist ---- */

static void test_persist(void **state)
{
        (void)state;
        assert_true(persist_add(make_resolver()));
        assert_true(persist_make_mount_points(make_resolver()));
        assert_int_equal(box.mounts[0].kind, MOUNT_MEMORY);
        options.persist = (char[]){"name"};
        assert_true(persist_add(make_resolver()));
        assert_int_equal(box.mount_count, 1);
        assert_true(box.mounts[0].kind == MOUNT_BIND && box.mounts[0].writable);
        assert_found(str_copy(box.mounts[0].source), "T/data/hutch/homes/name");
        assert_found(str_copy(box.mounts[0].destination), "T/home");
        assert_int_equal(box.mounts[0].origin, ORIGIN_PERSIST);
        tree_set_mode("T/data/hutch/homes", 0755);
        assert_false(persist_add(make_resolver()));
        assert_string_equal(
            error.text, "cannot make the home of --persist name: a directory on the way does not belong to "
                        "this account with mode 0700");
        tree_set_mode("T/data/hutch/homes", 0700);
        tree_remove_file("T/bin/npx");
        tree_make_file("T/data/hutch/homes/file", "", 0600);
        options.persist = (char[]){"file"};
        error = (struct error){0};
        assert_false(persist_add(make_resolver()));
        assert_string_equal(error.text, "cannot make the home of --persist file: Not a directory");
}

static void add_mount(enum mount_kind kind, const char *place, bool is_directory, const char *source)
{
        box_add_mount(&box, &(struct mount){.kind = kind,
                                            .source = source ? str_copy(source) : NULL,
                                            .destination = tree_path(place),
                                            .is_directory = is_directory,
                                            .origin = ORIGIN_OPTION,
                                            .why = str_copy("--ro")});
}

static mode_t type_of(const char *name)
{
        struct stat status;
        autofree char *path = tree_path(name);
        return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : 0;
}

#define KEPT "T/data/hutch/homes/name"

static void test_mount_points(void **state)
{
        (void)state;
        options.persist = (char[]){"name"};
        assert_true(persist_add(make_resolver()));
        add_mount(MOUNT_BIND, "T/home/a/directory", true, "/x");
        add_mount(MOUNT_BIND, "T/home/a/file", false, "/x");
        add_mount(MOUNT_OVERLAY, "T/home/.npm", false, "/x");
        add_mount(MOUNT_MEMORY, "T/home/memory", false, NULL);
        add_mount(MOUNT_MASK, "T/home/mask", false, NULL);
        add_mount(MOUNT_LINK, "T/home/link", false, "text");
        add_mount(MOUNT_BIND, "T/home/a/directory/inner", true, "/x");
        add_mount(MOUNT_BIND, "T/elsewhere", true, "/x");
        for (unsigned i = 0; i < 2; i++) { /* the second run finds them */
                assert_true(persist_make_mount_points(make_resolver()));
                assert_int_equal(type_of(KEPT "/a/directory"), S_IFDIR);
                assert_int_equal(type_of(KEPT "/a/file"), S_IFREG);
                assert_int_equal(type_of(KEPT "/.npm"), S_IFDIR);
                assert_int_equal(type_of(KEPT "/memory"), S_IFDIR);
                assert_int_equal(type_of(KEPT "/mask"), S_IFREG);
                assert_int_equal(type_of(KEPT "/link"), S_IFLNK);
        }
        assert_int_equal(type_of(KEPT "/memory/memory"), 0);
        /* The place of an inner mount is in the outer one. */
        assert_int_equal(type_of(KEPT "/a/directory/inner"), 0);
        assert_int_equal(type_of("T/elsewhere"), 0);
}

/* What the server put there instead is not followed. */
static void test_planted_mount_points(void **state)
{
        (void)state;
        static const struct {
                const char *link, *text, *mount;
                enum mount_kind kind;
                bool made;
        } cases[] = {
            {KEPT "/a", "T/victim", "T/home/a/file", MOUNT_MASK, false},
            {KEPT "/b", "T/victim", "T/home/b", MOUNT_MEMORY, false},
            {KEPT "/c", "T/victim/file", "T/home/c/file", MOUNT_MASK, false},
            {KEPT "/d", "T/victim/d", "T/home/d", MOUNT_MASK, true}, /* the mount point is the link itself */
        };
        tree_make_directory("T/victim");
        options.persist = (char[]){"name"};
        assert_true(persist_add(make_resolver()));
        for (size_t i = 0; i < COUNT(cases); i++) {
                tree_make_link(cases[i].link, cases[i].text);
                add_mount(cases[i].kind, cases[i].mount, false, NULL);
                error = (struct error){0};
                assert_int_equal(persist_make_mount_points(make_resolver()), cases[i].made);
                if (!cases[i].made) {
                        autofree char *sentence = str_format(
                            "cannot make a place for %s in the home of --persist name: Not a directory",
                            last_mount()->destination);
                        assert_non_null(strstr(error.text, sentence));
                }
                tree_remove_file(cases[i].link);
                keep_mounts(box.mount_count - 1);
        }
        assert_int_equal(type_of("T/victim/file"), 0);
        assert_int_equal(type_of("T/victim/d"), 0);
        /* A directory where a file is to be, and the other way round. */
        tree_make_file(KEPT "/plain", "", 0600);
        add_mount(MOUNT_MEMORY, "T/home/plain", false, NULL);
        error = (struct error){0};
        assert_false(persist_make_mount_points(make_resolver()));
        keep_mounts(box.mount_count - 1);
        /* The home that was judged is gone. */
        free(box.mounts[0].source);
        box.mounts[0].source = tree_path("T/none");
        error = (struct error){0};
        assert_false(persist_make_mount_points(make_resolver()));
        assert_non_null(strstr(error.text, "cannot open"));
        /* Another home than that of --persist gets none. */
        box.mounts[0].origin = ORIGIN_OPTION;
        error = (struct error){0};
        assert_true(persist_make_mount_points(make_resolver()));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            TEST(test_entry_of_npm),
            TEST(test_entry_of_uv),
            TEST(test_registries_in_reach),
            TEST(test_user_grants_that_replace_an_entry),
            TEST(test_packages_beside_npm),
            TEST(test_what_is_not_asked_for),
            TEST(test_entries_that_cannot_be_used),
            TEST(test_missing_entries),
            TEST(test_programs_of_a_fetch),
            TEST(test_projects),
            TEST(test_requests_of_projects),
            TEST(test_changed_lists),
            TEST(test_any_request),
            TEST(test_persist),
            TEST(test_mount_points),
            TEST(test_planted_mount_points),
        };
        /* The home is read once in a process. */
        setenv("HOME", "/nowhere", 1);
        return cmocka_run_group_tests_name("package_mounts", tests, NULL, NULL);
}
