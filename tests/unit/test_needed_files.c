/* SPDX-License-Identifier: Apache-2.0
 *
 * From one needed file to the next: which project a typed path has, what a reference brings, and the order of
 * the sandbox's PATH. Whole commands are in test_toolchain.c.
 */
#include "command/needed_files.h"

#include "tree_rig.h"

#include <sys/stat.h>
#include <unistd.h>

static struct toolchain toolchain;
static struct resolver *resolver;

static struct finding finding;

/* A finding with an empty PATH; T/caller is the working directory. */
static void begin(const struct box *box)
{
        toolchain_free(&toolchain);
        str_list_free(&finding.projects);
        resolver = tree_resolver(box);
        resolver->toolchain = &toolchain;
        finding = (struct finding){.resolver = resolver, .result = &toolchain};
}

static int tear_down(void **state)
{
        toolchain_free(&toolchain);
        str_list_free(&finding.projects);
        return tree_tear_down(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_set_up, tear_down)

static void assert_granted(const char *const *wanted)
{
        struct str_list found = {0};
        for (size_t i = 0; i < toolchain.grants.count; i++) {
                const struct program_grant *grant = &toolchain.grants.values[i];
                str_list_take(&found, grant->link ? str_format("%s -> %s", grant->path, grant->link)
                                                  : str_copy(grant->path));
        }
        assert_list(&found, wanted);
        str_list_free(&found);
}

/* ---- typed paths ---- */

static void assert_project(const char *path, const char *wanted)
{
        autofree char *typed = tree_path(path);
        begin(NULL);
        needed_files_add_project(&finding, typed);
        assert_list(&finding.projects, wanted ? LIST(wanted) : LIST());
}

static void test_projects(void **state)
{
        (void)state;
        tree_make_file("T/p/package.json", "{}", 0644);
        tree_make_file("T/p/src/a.js", "", 0644);
        tree_make_file("T/other/b/x", "", 0644);
        assert_project("T/p/src/a.js", "T/p");
        assert_project("T/p/src", "T/p");
        assert_project("T/other/b/x", "T/other/b");
        assert_project("T/p/none", NULL);
        assert_project("/bin/sh", NULL);
        /* Where the path leads through a link, the link's place decides. */
        tree_make_link("T/p/out", "../other");
        tree_make_link("T/other/back", "../p/src");
        assert_project("T/p/out/b/x", "T/p");
        assert_project("T/other/back/a.js", "T/other");
        tree_make_link("T/p/shell", "/bin/sh");
        assert_project("T/p/shell", "T/p");
        /* `..` behind a link is not the directory before it. */
        assert_project("T/p/out/../p/src/a.js", "T/p");
        /* A .git is not a bound of a project. */
        tree_make_file("T/r/.git/config", "", 0644);
        tree_make_file("T/r/a/x", "", 0644);
        assert_project("T/r/a/x", "T/r/a");
        /* From a directory that everybody may write, nothing leads further. */
        tree_make_file("T/shared/x", "", 0644);
        tree_set_mode("T/shared", 01777);
        assert_project("T/shared/x", "T/shared/x");
        assert_project("T/home/.profile", "T/home/.profile");
        /* A virtual environment has its project around it, or is one. */
        tree_make_file("T/q/pyproject.toml", "", 0644);
        tree_make_file("T/q/.venv/pyvenv.cfg", "", 0644);
        tree_make_file("T/q/.venv/bin/python", "", 0755);
        tree_make_file("T/envs/one/pyvenv.cfg", "", 0644);
        tree_make_file("T/envs/one/bin/python", "", 0755);
        assert_project("T/q/.venv/bin/python", "T/q");
        assert_project("T/envs/one/bin/python", "T/envs/one");
        /* Around an installation is what its manager keeps. */
        tree_make_file("T/home/.nvm/package.json", "{}", 0644);
        tree_make_file("T/home/.nvm/versions/node/v20/bin/node", "", 0755);
        assert_project("T/home/.nvm/versions/node/v20/bin/node", NULL);
}

static void test_workspaces(void **state)
{
        (void)state;
        tree_make_file("T/w/packages/a/package.json", "{}", 0644);
        tree_make_file("T/w/node_modules/x/index.js", "", 0644);
        /* Without a package around them, node_modules bound themselves. */
        assert_project("T/w/node_modules/x/index.js", "T/w/node_modules");
        tree_make_file("T/w/package.json", "{}", 0644);
        assert_project("T/w/node_modules/x/index.js", "T/w");
        assert_project("T/w/node_modules/x", "T/w");
        /* A name that only begins so is not node_modules. */
        tree_make_file("T/q/node_modules_x/y/z.js", "", 0644);
        assert_project("T/q/node_modules_x/y/z.js", "T/q/node_modules_x/y");
}

/* No server writes in the home itself or above it, and no clone has a link there. */
static void test_links_of_the_user(void **state)
{
        (void)state;
        tree_make_file("T/data/p/x", "", 0644);
        tree_make_link("T/home/work", "../data");
        tree_make_link("T/work", "data");
        tree_make_link("T/home/code/work", "../../data");
        tree_make_link("T/home/.local/bin/x", "T/data/p/x");
        assert_project("T/home/work/p/x", "T/data/p");
        assert_project("T/work/p/x", "T/data/p");
        assert_project("T/home/code/work/p/x", "T/home/code");
        assert_project("T/home/.local/bin/x", "T/home/.local/bin");
        /* The home, by the name that the user gives it, may itself be a link elsewhere. */
        tree_make_file("T/disk/package.json", "{}", 0644);
        tree_make_link("T/disk/me", "../home");
        tree_make_file("T/home/app/x", "", 0644);
        assert_project("T/disk/me/app/x", "T/disk");
        autofree char *home = tree_path("T/disk/me"), *typed = tree_path("T/disk/me/app/x");
        begin(NULL);
        resolver->home = home;
        needed_files_add_project(&finding, typed);
        assert_list(&finding.projects, LIST("T/home/app"));
}

static void test_order_on_path(void **state)
{
        (void)state;
        static const char *const programs[] = {"T/a/x",    "T/b/x",        "T/c/x",
                                               "T/home/x", "/usr/bin/env", "T/none/x"};
        static const enum place places[] = {LAST, LAST, FIRST, FIRST, FIRST, LAST};
        begin(NULL);
        for (size_t i = 0; i < COUNT(programs); i++) {
                autofree char *program = tree_path(programs[i]);
                if (i < 4)
                        tree_make_file(programs[i], "", 0755);
                needed_files_put_on_path(&finding, program, places[i]);
                needed_files_put_on_path(&finding, program, FIRST);
        }
        /* A directory that is not the program's own, or is the host's, is not put there; none is there twice.
         */
        assert_list(&toolchain.front, LIST("T/a", "T/b", "T/c"));
        static const char *const order[] = {"T/c", "T/a", "T/b"};
        for (size_t i = 0; i < COUNT(order); i++) {
                autofree char *directory = tree_path(order[i]);
                assert_string_equal(toolchain.front.values[i], directory);
        }
}

/* ---- references ---- */

static bool add(const char *path, struct need need)
{
        autofree char *file = tree_path(path);
        need.why = need.why ? need.why : "the command";
        return needed_files_add(&finding, file, need);
}

/* The one note ends with the advice to grant `advice`; NULL: there is none. */
static void assert_advice(const char *advice)
{
        autofree char *end = advice ? tree_path(advice) : NULL;
        autofree char *sentence = end ? str_format("and is not granted; --ro %s grants it", end) : NULL;
        assert_int_equal(toolchain.notes.count, advice != NULL);
        assert_int_equal(finding.doubted, advice != NULL);
        if (advice && !strstr(toolchain.notes.values[0], sentence))
                fail_msg("%s", toolchain.notes.values[0]);
}

static void test_what_a_link_brings(void **state)
{
        (void)state;
        struct box box = {0};
        static const struct {
                const char *link, *text, *advice;
        } cases[] = {
            {"T/p/in", "src/x", NULL},
            {"T/p/file", "../elsewhere/x", "T/elsewhere"},
            {"T/p/deep", "../other/src/x", "T/other"},
            {"T/p/program", "../tools/bin/x", "T/tools"},
            {"T/p/python", "../envs/one/bin/python", "T/envs/one"},
            {"T/p/home", "../home/.profile", "T/home/.profile"},
            {"T/p/shell", "/bin/sh", NULL},
            {"T/p/shells", "../elsewhere/shell", NULL},
            {"T/p/installed", "../home/.pyenv/versions/3/bin/x", NULL},
            {"T/p/seen", "../seen/x", NULL},
        };
        tree_make_file("T/p/package.json", "{}", 0644);
        tree_make_file("T/p/src/x", "", 0644);
        tree_make_file("T/elsewhere/x", "", 0644);
        tree_make_link("T/elsewhere/shell", "/bin/sh");
        tree_make_file("T/other/package.json", "{}", 0644);
        tree_make_file("T/other/src/x", "", 0644);
        tree_make_file("T/tools/bin/x", "", 0644);
        tree_make_file("T/tools/lib/x", "", 0644);
        tree_make_file("T/envs/one/pyvenv.cfg", "", 0644);
        tree_make_link("T/envs/one/bin/python", "/usr/bin/env");
        tree_make_file("T/home/.pyenv/versions/3/bin/x", "", 0644);
        tree_make_file("T/seen/x", "", 0644);
        tree_add_grant(&box, "T/seen", false, "--ro");
        for (size_t i = 0; i < COUNT(cases); i++) {
                tree_make_link(cases[i].link, cases[i].text);
                begin(&box);
                assert_true(add(cases[i].link, (struct need){0}));
                assert_advice(cases[i].advice);
                /* Nothing of the place that the link leads to is granted, but the advice makes it visible. */
                assert_string_equal(toolchain.grants.values[0].path + strlen(tree_directory), "/p");
                for (size_t j = 0; cases[i].advice && j < toolchain.grants.count; j++)
                        assert_string_equal(toolchain.grants.values[j].path + strlen(tree_directory), "/p");
                if (!cases[i].advice)
                        continue;
                struct box advised = {0};
                tree_add_grant(&advised, cases[i].advice, false, "--ro");
                begin(&advised);
                assert_true(add(cases[i].link, (struct need){0}));
                assert_advice(NULL);
                box_free(&advised);
        }
        /* One note is enough. */
        begin(&box);
        assert_true(add("T/p/file", (struct need){0}) && add("T/p/deep", (struct need){0}));
        assert_int_equal(toolchain.notes.count, 1);
        /* What the user names has its own project; the other way round it has not. */
        begin(&box);
        assert_true(add("T/other/src/x", (struct need){0}) && add("T/p/deep", (struct need){0}));
        assert_advice(NULL);
        box_free(&box);
}

static void test_what_must_not_be_granted(void **state)
{
        (void)state;
        tree_make_file("T/p/package.json", "{}", 0644);
        tree_make_file("T/home/.ssh/key", "", 0600);
        tree_make_link("T/p/keys", "../home/.ssh");
        begin(NULL);
        assert_false(add("T/p/keys", (struct need){.why = "project of the command"}));
        assert_int_equal(resolver->error->status, EXIT_SETUP);
        autofree char *sentence =
            tree_path("T/p/keys leads to T/home/.ssh, which is needed as project of the command and cannot "
                      "be granted: it holds keys");
        assert_string_equal(resolver->error->text, sentence);
}

static void test_chains_of_links(void **state)
{
        (void)state;
        const struct need need = {.executable = true};
        tree_make_file("T/q/x", "", 0755);
        for (unsigned i = 1; i <= 41; i++) {
                autofree char *link = str_format("T/q/%u", i);
                autofree char *text = i > 1 ? str_format("%u", i - 1) : str_copy("x");
                tree_make_link(link, text);
        }
        begin(NULL);
        assert_true(add("T/q/40", need));
        assert_true(toolchain.grants.count > 40);
        /* The kernel follows no more of them, so such a file does not exist. */
        begin(NULL);
        assert_true(add("T/q/41", need));
        assert_granted(LIST());

        /* Links anywhere are shown where they lead to what is visible. */
        tree_make_file("T/p/package.json", "{}", 0644);
        tree_make_link("T/elsewhere/shell", "/usr/bin/env");
        tree_make_link("T/p/two", "../elsewhere/shell");
        begin(NULL);
        assert_true(add("T/p/two", need));
        assert_granted(LIST("T/p", "T/p/two -> ../elsewhere/shell", "T/elsewhere/shell -> /usr/bin/env"));
        /* In a writable grant a file leads to no project, even to one that the user names. */
        struct box box = {0};
        tree_make_file("T/w/run", "#!T/lone/deep/x\n", 0755);
        tree_make_file("T/lone/deep/x", "", 0755);
        tree_make_link("T/lone/start", "/usr/bin/env");
        tree_add_grant(&box, "T/w", true, "--rw");
        begin(&box);
        assert_true(add("T/lone/start", need) && add("T/w/run", need));
        assert_advice("T/lone/deep");
        begin(NULL);
        assert_true(add("T/lone/start", need) && add("T/w/run", need));
        assert_advice(NULL);
        box_free(&box);
}

static void test_bases(void **state)
{
        (void)state;
        tree_make_file("T/v/bin/python", "ELF", 0755);
        tree_make_file("T/home/.pyenv/versions/3/bin/python3", "ELF", 0755);
        tree_make_file("T/home/.pyenv/versions/3/envs/x", "", 0644);
        tree_make_file("T/tools/bin/python3", "ELF", 0755);
        tree_make_file("T/tools/lib/python3.11/os.py", "", 0644);
        tree_make_file("T/v/pyvenv.cfg", "home = T/home/.pyenv/versions/3/bin\n", 0644);
        begin(NULL);
        assert_true(add("T/v/bin/python", (struct need){.executable = true}));
        assert_advice(NULL);
        assert_granted(LIST("T/v", "T/home/.pyenv/versions/3/bin"));
        tree_make_file("T/v/pyvenv.cfg", "home = T/tools/bin\n", 0644);
        begin(NULL);
        assert_true(add("T/v/bin/python", (struct need){.executable = true}));
        assert_advice("T/tools");
        assert_granted(LIST("T/v"));
        tree_make_file("T/v/pyvenv.cfg", "home = /usr/bin\n", 0644);
        begin(NULL);
        assert_true(add("T/v/bin/python", (struct need){.executable = true}));
        assert_advice(NULL);
        /* One that names itself ends. */
        tree_make_file("T/v/bin/bin/x", "", 0755);
        tree_make_file("T/v/pyvenv.cfg", "home = T/v/bin/bin\n", 0644);
        begin(NULL);
        assert_true(add("T/v/bin/python", (struct need){.executable = true}));
        assert_advice(NULL);
}

static void test_interpreters_that_must_not_be_granted(void **state)
{
        (void)state;
        const struct need need = {.executable = true};
        tree_make_file("T/home/.ssh/tool", "", 0755);
        tree_make_file("T/p/run", "#!T/home/.ssh/tool\n", 0755);
        begin(NULL);
        assert_false(add("T/p/run", need));
        assert_int_equal(resolver->error->status, EXIT_SETUP);
        autofree char *sentence =
            tree_path("T/p/run leads to T/home/.ssh/tool, which is needed as interpreter of T/p/run");
        assert_non_null(strstr(resolver->error->text, sentence));
        /* A file that the kernel does not start has no interpreter. */
        begin(NULL);
        assert_true(add("T/p/run", (struct need){0}));
        assert_granted(LIST("T/p"));
        /* Five interpreters are the kernel's limit too. */
        tree_make_file("T/p/deep", "#!/bin/sh\n", 0755);
        begin(NULL);
        assert_true(add("T/p/deep", (struct need){.executable = true, .depth = 4}));
        begin(NULL);
        assert_false(add("T/p/deep", (struct need){.executable = true, .depth = 5}));
        assert_int_equal(resolver->error->status, EXIT_NOT_EXECUTABLE);
}

/* The sandbox's PATH decides first, as it will inside. */
static void test_programs_of_env(void **state)
{
        (void)state;
        const struct need need = {.executable = true};
        autofree char *first = tree_path("T/first/tool"), *directory = tree_path("T/first");
        tree_make_file("T/first/tool", "ELF", 0755);
        tree_make_file("T/beside/tool", "ELF", 0755);
        tree_make_file("T/beside/run", "#!/usr/bin/env tool\n", 0755);
        begin(NULL);
        resolver->search_path = directory;
        assert_true(add("T/beside/run", need));
        assert_granted(LIST("T/beside", "T/beside"));
        begin(NULL);
        resolver->search_path = directory;
        needed_files_put_on_path(&finding, first, LAST);
        assert_true(add("T/beside/run", need));
        assert_granted(LIST("T/beside"));
        assert_advice("T/first");
}

static void test_sensitive_files(void **state)
{
        (void)state;
        struct box box = {0};
        tree_make_file("T/home/.ssh/key.js", "", 0600);
        /* Refused unless the user has granted it. */
        begin(&box);
        assert_false(add("T/home/.ssh/key.js", (struct need){0}));
        assert_int_equal(resolver->error->status, EXIT_SETUP);
        tree_add_grant(&box, "T/home/.ssh", false, "--unsafe-grant");
        begin(&box);
        assert_true(add("T/home/.ssh/key.js", (struct need){0}));
        assert_granted(LIST());
        assert_int_equal(resolver->error->status, 0);
        box_free(&box);
}

static void test_shared_directories_are_noted(void **state)
{
        (void)state;
        struct box box = {0};
        static const struct {
                mode_t mode;
                bool noted;
        } cases[] = {{0777, true}, {01777, false}, {0757, true}};
        tree_make_file("T/shared/x", "", 0644);
        for (size_t i = 0; i < COUNT(cases); i++) {
                tree_set_mode("T/shared", cases[i].mode);
                begin(i ? &box : NULL);
                assert_true(add("T/shared/x", (struct need){0}));
                assert_granted(LIST("T/shared/x"));
                assert_int_equal(toolchain.notes.count, cases[i].noted);
                autofree char *advice =
                    tree_path("because everybody may write in its directory; move it to a separate "
                              "directory, or grant the whole one with --ro T/shared");
                if (cases[i].noted)
                        assert_non_null(strstr(toolchain.notes.values[0], advice));
        }
        /* The home is not granted either, for another reason. */
        begin(&box);
        assert_true(add("T/home/.profile", (struct need){0}));
        assert_int_equal(toolchain.notes.count, 0);
        assert_true(add("T/none/x", (struct need){0}));
        assert_int_equal(toolchain.notes.count, 0);
        tree_make_file("T/home/Documents/x", "", 0644);
        begin(&box);
        assert_true(add("T/home/Documents/x", (struct need){0}));
        assert_granted(LIST("T/home/Documents/x"));
        autofree char *advice = tree_path(
            "only the file T/home/Documents/x is granted, because its directory has private files "
            "too; move it to a separate directory, or grant the whole one with --ro T/home/Documents");
        assert_string_equal(toolchain.notes.values[0], advice);
        /* What the user has granted already needs no note. */
        tree_add_grant(&box, "T/shared", false, "--ro");
        begin(&box);
        assert_true(add("T/shared/x", (struct need){0}));
        assert_int_equal(toolchain.notes.count, 0);
        box_free(&box);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            TEST(test_projects),
            TEST(test_workspaces),
            TEST(test_links_of_the_user),
            TEST(test_order_on_path),
            TEST(test_what_a_link_brings),
            TEST(test_what_must_not_be_granted),
            TEST(test_chains_of_links),
            TEST(test_bases),
            TEST(test_interpreters_that_must_not_be_granted),
            TEST(test_programs_of_env),
            TEST(test_sensitive_files),
            TEST(test_shared_directories_are_noted),
        };
        return cmocka_run_group_tests_name("needed_files", tests, NULL, NULL);
}
