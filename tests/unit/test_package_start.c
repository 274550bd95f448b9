/* SPDX-License-Identifier: Apache-2.0
 *
 * When the program of a fetched package starts directly, and everything for which npx or uvx starts instead.
 */
#include "packages/start.h"

#include "lib/environment.h"
#include "tree_rig.h"

#include <stdlib.h>
#include <sys/stat.h>

#define CACHE "T/cache"
#define BIN   "_npx/1/node_modules/.bin"

static struct box box;
static struct toolchain toolchain;
static struct package_mounts use;

static int set_up(void **state)
{
        if (tree_set_up(state) != 0)
                return -1;
        /* npx as npm installs it: a link to npx-cli.js, with npm's modules beside bin. */
        tree_make_file("T/node/lib/node_modules/npm/bin/npx-cli.js", "#!/usr/bin/env node\n", 0755);
        tree_make_link("T/node/bin/npx", "../lib/node_modules/npm/bin/npx-cli.js");
        tree_make_file(CACHE "/_npx/1/node_modules/hello/cli.js", "#!/usr/bin/env node\n", 0755);
        tree_make_link(CACHE "/" BIN "/hello", "../hello/cli.js");
        tree_make_file("T/caller/deep/file", "", 0644);
        box = (struct box){
            .home = tree_path("T/home"),
            .cwd = tree_path("T/caller/deep"),
            .argv = tree_words("npx -y hello@1.0 a -b"),
            .executable = str_copy("/usr/bin/npx"),
        };
        box.started = tree_words("npx -y hello@1.0 a -b");
        str_list_add(&box.environment, "PATH=/usr/bin");
        str_list_add(&box.environment, "npm_config_offline=true");
        tree_add_grant(&box, "T/caller", false, "--ro");
        tree_add_grant(&box, "T/home", false, "--ro");
        toolchain = (struct toolchain){.executable = tree_path("T/node/bin/npx")};
        use = (struct package_mounts){
            .source = tree_path(CACHE),
            .place = tree_path("T/home/.npm"),
            .entry = {.directory = str_copy(BIN), .program = str_copy("hello")},
        };
        str_list_add(&use.entry.environment, "npm_config_entry=1");
        return 0;
}

static int tear_down(void **state)
{
        box_free(&box);
        toolchain_free(&toolchain);
        package_mounts_release(&use);
        return tree_tear_down(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void replace(char **text, const char *with)
{
        free(*text);
        *text = tree_path(with);
}

static void type(const char *command)
{
        str_list_free(&box.argv);
        box.argv = tree_words(command);
}

/* True when the box starts the package's program. Leaves the box as it was otherwise. */
static bool starts(void)
{
        struct resolver *resolver = tree_resolver(NULL);
        resolver->box = &box;
        resolver->toolchain = &toolchain;
        resolver->packages = &use;
        package_start(resolver);
        bool direct = !str_equal(box.executable, "/usr/bin/npx");
        if (!direct) {
                assert_string_equal(box.started.values[0], "npx");
                assert_string_equal(environment_find(&box.environment, "PATH"), "/usr/bin");
        }
        return direct;
}

static void assert_direct(void)
{
        assert_true(starts());
        replace(&box.executable, "/usr/bin/npx");
        str_list_free(&box.started);
        box.started = tree_words("npx -y hello@1.0 a -b");
        str_list_free(&box.environment);
        str_list_add(&box.environment, "PATH=/usr/bin");
}

static void test_npx(void **state)
{
        (void)state;
        assert_true(starts());
        assert_found(str_copy(box.executable), "T/home/.npm/" BIN "/hello");
        assert_list(&box.started, LIST("hello", "a", "-b"));
        assert_string_equal(box.started.values[1], "a");
        autofree char *path =
            tree_path("T/home/.npm/" BIN ":T/caller/deep/node_modules/.bin:T/caller/node_modules/.bin:"
                      "T/node_modules/.bin:/tmp/node_modules/.bin:/node_modules/.bin:/usr/bin");
        assert_string_equal(environment_find(&box.environment, "PATH"), path);
        autofree char *cwd = tree_path("T/caller/deep");
        assert_string_equal(environment_find(&box.environment, "INIT_CWD"), cwd);
        assert_string_equal(environment_find(&box.environment, "npm_command"), "exec");
        assert_string_equal(environment_find(&box.environment, "npm_lifecycle_event"), "npx");
        /* The words as typed stay. */
        assert_list(&box.argv, LIST("npx", "-y", "hello@1.0", "a", "-b"));
}

static void test_named_program(void **state)
{
        (void)state;
        tree_make_link(CACHE "/" BIN "/other", "../hello/cli.js");
        type("npx -p hello other x");
        assert_true(starts());
        assert_found(str_copy(box.executable), "T/home/.npm/" BIN "/other");
        assert_list(&box.started, LIST("other", "x"));
}

static void test_uvx(void **state)
{
        (void)state;
        tree_make_file("T/uv/uvx", "ELF", 0755);
        tree_make_file(CACHE "/archive/x/bin/hello", "\177ELF", 0755);
        replace(&toolchain.executable, "T/uv/uvx");
        replace(&use.entry.directory, "archive/x/bin");
        replace(&use.entry.program, "");
        type("uvx hello x");
        /* npm's settings, projects and global packages mean nothing to uv. */
        tree_make_file("T/caller/.npmrc", "", 0644);
        str_list_add(&box.environment, "npm_config_x=1");
        assert_true(starts());
        assert_found(str_copy(box.executable), "T/home/.npm/archive/x/bin/hello");
        assert_list(&box.started, LIST("hello", "x"));
        autofree char *path = tree_path("T/home/.npm/archive/x/bin:/usr/bin");
        assert_string_equal(environment_find(&box.environment, "PATH"), path);
        assert_null(environment_find(&box.environment, "npm_command"));
        replace(&box.executable, "/usr/bin/npx");
        environment_set(&box.environment, str_copy("PATH=/usr/bin"));
        str_list_free(&box.started);
        box.started = tree_words("npx");

        environment_set(&box.environment, str_copy("UV_OFFLINE=1"));
        environment_set(&box.environment, str_copy("UV_PYTHON_DOWNLOADS=never"));
        environment_set(&box.environment, str_copy("uv_index=x"));
        assert_false(starts());
        str_list_free(&box.environment);
        str_list_add(&box.environment, "PATH=/usr/bin");
        replace(&toolchain.executable, "T/node/bin/npx");
        assert_false(starts());
}

static void test_without_an_entry(void **state)
{
        (void)state;
        replace(&use.entry.directory, "");
        assert_false(starts());
        replace(&use.entry.directory, BIN);
        replace(&use.entry.program, "");
        assert_false(starts());
        replace(&use.entry.program, "hello");
        type("npx -c hello");
        assert_false(starts());
        type("npx hello");
        free(use.source);
        use.source = NULL;
        assert_false(starts());
}

/* The program must be a file in the entry that the kernel can start. */
static void test_programs_in_the_entry(void **state)
{
        (void)state;
        static const struct {
                const char *content;
                mode_t mode;
                bool starts;
        } cases[] = {
            {"#!/bin/sh\n", 0755, true}, {"\177ELF....", 0755, true}, {"#!/bin/sh\n", 0644, false},
            {"#!", 0755, false},         {"x!/bin/sh", 0755, false},  {"\177ELX....", 0755, false},
            {"", 0755, false},           {"\177EL", 0755, false},
        };
        for (size_t i = 0; i < COUNT(cases); i++) {
                tree_make_file(CACHE "/_npx/1/node_modules/hello/cli.js", cases[i].content, cases[i].mode);
                if (cases[i].starts)
                        assert_direct();
                else
                        assert_false(starts());
        }
        static const char *const links[] = {"../../../../../outside", "T/outside", "../hello", "../none",
                                            "../fifo"};
        autofree char *fifo = tree_path(CACHE "/_npx/1/node_modules/fifo");
        tree_make_file("T/outside", "#!/bin/sh\n", 0755);
        assert_int_equal(mkfifo(fifo, 0755), 0);
        for (size_t i = 0; i < COUNT(links); i++) {
                tree_remove_file(CACHE "/" BIN "/hello");
                tree_make_link(CACHE "/" BIN "/hello", links[i]);
                assert_false(starts());
        }
        /* No link on the way to the directory, also one that stays in the cache. */
        tree_remove_file(CACHE "/" BIN "/hello");
        tree_make_file(CACHE "/" BIN "/hello", "#!/bin/sh\n", 0755);
        assert_direct();
        tree_make_link(CACHE "/_link", "_npx");
        replace(&use.entry.directory, "_link/1/node_modules/.bin");
        assert_false(starts());
        replace(&use.entry.directory, BIN);
        tree_make_link("T/cache-link", "cache");
        replace(&use.source, "T/cache-link");
        assert_false(starts());
}

static void test_commands_that_are_not_npm(void **state)
{
        (void)state;
        tree_make_file("T/node/bin/mine", "#!/bin/sh\n", 0755);
        tree_make_file("T/node/lib/node_modules/npm/bin/npm-cli.js", "#!/usr/bin/env node\n", 0755);
        tree_make_link("T/node/bin/npm", "../lib/node_modules/npm/bin/npm-cli.js");
        replace(&toolchain.executable, "T/node/bin/mine");
        assert_false(starts());
        replace(&toolchain.executable, "T/node/bin/none");
        assert_false(starts());
        replace(&toolchain.executable, "T/node/bin/npm");
        type("npm exec --yes hello");
        assert_direct();
        /* A version manager's shim is a link inside; the toolchain's grants say to what. */
        tree_make_file("T/shims/npx", "#!/bin/sh\n", 0755);
        replace(&toolchain.executable, "T/shims/npx");
        type("npx hello");
        assert_false(starts());
        autofree char *shim = tree_path("T/shims/npx"), *npx = tree_path("T/node/bin/npx"),
                      *other = tree_path("T/shims/x");
        grant_list_add(&toolchain.grants, shim, "the command");
        grant_list_add_link(&toolchain.grants, other, npx, "the command");
        grant_list_add_link(&toolchain.grants, shim, "relative", "the command");
        assert_false(starts());
        grant_list_add_link(&toolchain.grants, shim, npx, "the command");
        assert_direct();
}

static void test_settings(void **state)
{
        (void)state;
        static const struct {
                const char *variable;
                bool starts;
        } cases[] = {
            {"npm_config_registry=x", false},
            {"NPM_CONFIG_REGISTRY=x", false},
            {"npm_config_offline=true", true},
            {"npm_config_audit=false", true},
            {"npm_config_entry=1", true},
            {"npm_config_entry=2", false},
            {"npm_other=x", true},
            {"UV_INDEX=x", true},
        };
        for (size_t i = 0; i < COUNT(cases); i++) {
                str_list_add(&box.environment, cases[i].variable);
                if (cases[i].starts)
                        assert_direct();
                else
                        assert_false(starts());
                str_list_free(&box.environment);
                str_list_add(&box.environment, "PATH=/usr/bin");
        }
        static const char *const moved[] = {"HOME", "PREFIX", "XDG_CACHE_HOME", "XDG_DATA_HOME"};
        for (size_t i = 0; i < COUNT(moved); i++) {
                str_list_add(&box.secret_names, moved[i]);
                assert_false(starts());
                str_list_free(&box.secret_names);
        }
        str_list_add(&box.secret_names, "TOKEN");
        assert_direct();
}

static void test_names_of_the_shell(void **state)
{
        (void)state;
        static const char *const names[] = {"test", "echo", "["};
        for (size_t i = 0; i < COUNT(names); i++) {
                autofree char *program = str_format(CACHE "/" BIN "/%s", names[i]);
                tree_make_file(program, "#!/bin/sh\n", 0755);
                replace(&use.entry.program, names[i]);
                assert_false(starts());
        }
}

/* Each file alone makes npx decide, at and above the working directory. */
static void test_projects(void **state)
{
        (void)state;
        static const struct {
                const char *file, *content;
                bool starts;
        } cases[] = {
            {"T/caller/deep/.npmrc", "", false},
            {"T/caller/.npmrc", "", false},
            {"T/home/.npmrc", "", false},
            {"T/.npmrc", "", true}, /* not visible inside */
            {"T/caller/deep/node_modules/.bin/hello@1.0", "", false},
            {"T/caller/node_modules/hello/x", "", false},
            {"T/caller/node_modules/other/x", "", true},
            {"T/caller/deep/package.json", "{}", true},
            {"T/caller/package.json", "{\"name\": \"other\", \"bin\": {\"other\": \"x\"}}", true},
            {"T/caller/package.json", "{\"name\": \"hello\"}", false},
            {"T/caller/package.json", "{\"name\": \"@s/hello\"}", false},
            {"T/caller/package.json", "{\"bin\": {\"hello\": \"x\"}}", false},
            {"T/caller/package.json", "{\"directories\": {\"bin\": \"x\"}}", false},
            {"T/caller/package.json", "{", false},
            {"T/caller/package.json", "[]", false},
        };
        for (size_t i = 0; i < COUNT(cases); i++) {
                tree_make_file(cases[i].file, cases[i].content, 0644);
                if (cases[i].starts)
                        assert_direct();
                else if (starts())
                        fail_msg("%s: %s", cases[i].file, cases[i].content);
                autofree char *path = tree_path(cases[i].file);
                assert_int_equal(remove(path), 0);
                for (char *slash; (slash = strrchr(path, '/'));) { /* the directories that were made for it */
                        *slash = 0;
                        if (rmdir(path) < 0)
                                break;
                }
        }
        /* A manifest that cannot be read as a file is not known to be harmless. */
        tree_make_file("T/manifest", "{}", 0644);
        tree_make_link("T/caller/package.json", "T/manifest");
        assert_false(starts());
        tree_remove_file("T/caller/package.json");
        autofree char *manifest = tree_path("T/caller/package.json");
        assert_int_equal(mkfifo(manifest, 0644), 0);
        assert_false(starts());
        tree_remove_file("T/caller/package.json");
        /* --file may bring one. */
        struct copy_in file = {.source = tree_path("T/manifest"),
                               .destination = tree_path("T/caller/.npmrc")};
        box.files = &file;
        box.file_count = 1;
        bool direct = starts();
        box.files = NULL;
        box.file_count = 0;
        free(file.source);
        free(file.destination);
        assert_false(direct);
        assert_direct();
}

/* What the sandbox shows at a path need not be the host's file of that path. */
static void test_what_the_sandbox_shows(void **state)
{
        (void)state;
        tree_make_file("T/caller/deep/.npmrc", "", 0644);
        tree_make_file("T/elsewhere/.npmrc", "", 0644);
        box_add_mount(&box, &(struct mount){.kind = MOUNT_MEMORY,
                                            .destination = tree_path("T/caller/deep"),
                                            .why = str_copy("--tmpfs")});
        assert_direct();
        box_add_mount(&box, &(struct mount){.kind = MOUNT_OVERLAY,
                                            .source = tree_path("T/elsewhere"),
                                            .destination = tree_path("T/caller/deep"),
                                            .why = str_copy("--overlay")});
        assert_false(starts());
}

static void test_global_packages(void **state)
{
        (void)state;
        static const struct {
                const char *file;
                bool starts;
        } cases[] = {
            {"T/node/bin/hello@1.0", false},
            {"T/node/lib/node_modules/hello/x", false},
            {"T/node/lib/node_modules/other/x", true},
            {"T/node/bin/hello", true},
        };
        for (size_t i = 0; i < COUNT(cases); i++) {
                tree_make_file(cases[i].file, "", 0644);
                if (cases[i].starts)
                        assert_direct();
                else
                        assert_false(starts());
                tree_remove_file(cases[i].file);
                if (i == 1) {
                        autofree char *package = tree_path("T/node/lib/node_modules/hello");
                        assert_int_equal(rmdir(package), 0);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            TEST(test_npx),
            TEST(test_named_program),
            TEST(test_uvx),
            TEST(test_without_an_entry),
            TEST(test_programs_in_the_entry),
            TEST(test_commands_that_are_not_npm),
            TEST(test_settings),
            TEST(test_names_of_the_shell),
            TEST(test_projects),
            TEST(test_what_the_sandbox_shows),
            TEST(test_global_packages),
        };
        return cmocka_run_group_tests_name("package_start", tests, NULL, NULL);
}
