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

static void type(const char *command)
{
        str_list_free(&box.argv);
        box.argv = tree_words(command);
        command_free(&toolchain.command);
        command_read(&box.argv, &toolchain.command);
}

static int set_up(void **state)
{
        if (tree_set_up(state) != 0)
                return -1;
        tree_make_file(CACHE "/_npx/1/node_modules/hello/cli.js", "#!/usr/bin/env node\n", 0755);
        tree_make_link(CACHE "/" BIN "/hello", "../hello/cli.js");
        tree_make_file("T/caller/deep/file", "", 0644);
        box = (struct box){
            .home = tree_path("T/home"),
            .cwd = tree_path("T/caller/deep"),
            .executable = str_copy("/usr/bin/npx"),
        };
        box.started = tree_words("npx -y hello@1.0 a -b");
        str_list_add(&box.environment, "PATH=/usr/bin");
        tree_add_grant(&box, "T/caller", false, "--ro");
        tree_add_grant(&box, "T/home", false, "--ro");
        use = (struct package_mounts){
            .source = tree_path(CACHE),
            .place = tree_path("T/home/.npm"),
            .entry = {.directory = str_copy(BIN), .program = str_copy("hello")},
        };
        type("npx -y hello@1.0 a -b");
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
        tree_make_file(CACHE "/archive/x/bin/hello", "\177ELF", 0755);
        replace(&use.entry.directory, "archive/x/bin");
        replace(&use.entry.program, "");
        type("uvx hello x");
        /* Projects of npm mean nothing to uv. */
        tree_make_file("T/caller/node_modules/.bin/hello", "", 0755);
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
        /* For this name uv starts an interpreter. */
        tree_make_file(CACHE "/archive/x/bin/python3", "\177ELF", 0755);
        type("uvx --from hello python3");
        assert_false(starts());
        type("uvx --from hello ../x");
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
        static const char *const others[] = {"npx -c hello", "npx -w x hello", "npx -p hello ./hello",
                                             "bunx hello",   "uv run hello",   "node hello"};
        for (size_t i = 0; i < COUNT(others); i++) {
                type(others[i]);
                assert_false(starts());
        }
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

/* A program of that name in a project that the sandbox shows makes npx decide. */
static void test_projects(void **state)
{
        (void)state;
        static const struct {
                const char *file;
                bool starts;
        } cases[] = {
            {"T/caller/deep/node_modules/.bin/hello", false},
            {"T/caller/node_modules/.bin/hello", false},
            {"T/node_modules/.bin/hello", true}, /* not visible inside */
            {"T/caller/node_modules/.bin/other", true},
            {"T/caller/node_modules/hello/x", true},
            {"T/caller/package.json", true},
            {"T/caller/.npmrc", true},
        };
        for (size_t i = 0; i < COUNT(cases); i++) {
                tree_make_file(cases[i].file, "", 0644);
                if (cases[i].starts)
                        assert_direct();
                else if (starts())
                        fail_msg("%s", cases[i].file);
                tree_remove_file(cases[i].file);
        }
        /* --file may bring one. */
        struct copy_in file = {.source = tree_path("T/x"),
                               .destination = tree_path("T/caller/node_modules/.bin/hello")};
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
        tree_make_file("T/caller/deep/node_modules/.bin/hello", "", 0644);
        tree_make_file("T/elsewhere/node_modules/.bin/hello", "", 0644);
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

int main(void)
{
        const struct CMUnitTest tests[] = {
            TEST(test_npx),
            TEST(test_named_program),
            TEST(test_uvx),
            TEST(test_without_an_entry),
            TEST(test_programs_in_the_entry),
            TEST(test_projects),
            TEST(test_what_the_sandbox_shows),
        };
        return cmocka_run_group_tests_name("package_start", tests, NULL, NULL);
}
