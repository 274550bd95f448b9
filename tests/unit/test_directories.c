/* SPDX-License-Identifier: Apache-2.0
 *
 * Which directory a program belongs to, which directories are a program's own, and what an earlier run may
 * have written.
 */
#include "command/directories.h"

#include "tree_rig.h"

static bool on(bool (*question)(const char *), const char *name)
{
        autofree char *path = tree_path(name);
        return question(path);
}

static bool is_own(const char *name)
{
        autofree char *path = tree_path(name);
        return directory_is_own(tree_resolver(NULL), path);
}

static void test_host_tree(void **state)
{
        (void)state;
        static const char *const inside[] = {"/usr",
                                             "/usr/bin/x",
                                             "/bin/sh",
                                             "/sbin/x",
                                             "/lib/x",
                                             "/lib64/x",
                                             "/lib32/x",
                                             "/libx32/x",
                                             "/usr/x/y",
                                             "/bin",
                                             "/etc/alternatives/x"};
        static const char *const outside[] = {"/",    "/usrx",         "/etc/passwd",
                                              "/etc", "/home/usr/bin", "/opt/bin"};
        for (size_t i = 0; i < COUNT(inside); i++)
                assert_true(directory_in_host_tree(inside[i]));
        for (size_t i = 0; i < COUNT(outside); i++)
                assert_false(directory_in_host_tree(outside[i]));
}

static void test_kinds(void **state)
{
        (void)state;
        tree_make_file("T/d/file", "", 0644);
        tree_make_link("T/link", "d");
        tree_make_link("T/dangling", "none");
        assert_true(on(directory_exists, "T/d") && on(directory_exists, "T/link"));
        assert_false(on(directory_exists, "T/d/file") || on(directory_exists, "T/dangling"));
        autofree char *directory = tree_path("T/d");
        assert_true(directory_has(directory, "file") && !directory_has(directory, "none"));
        assert_true(directory_path_has_name("/a/bin", "bin") && !directory_path_has_name("/bin/a", "bin"));
        assert_false(directory_path_has_name("/a/xbin", "bin"));

        assert_false(on(directory_is_venv, "T/d"));
        tree_make_file("T/v/pyvenv.cfg", "", 0644);
        assert_true(on(directory_is_venv, "T/v"));
}

static void test_own_directories(void **state)
{
        (void)state;
        tree_make_file("T/app/file", "", 0644);
        tree_make_file("T/home/app/file", "", 0644);
        tree_make_file("T/home/.ssh/key", "", 0600);
        tree_make_link("T/link", "app");
        tree_make_link("T/home-link", "home");
        assert_true(is_own("T/app") && is_own("T/home/app") && is_own("T/link"));
        assert_false(is_own("T/app/file") || is_own("T/none"));
        assert_false(is_own("T/home") || is_own("T/home-link") || is_own("T") || is_own("T/home/.ssh"));
        assert_false(is_own("/home") || is_own("/opt") || is_own("/srv") || is_own("/mnt") || is_own("/tmp"));
        /* In these of the home, programs are among private files; below them they may have a directory. */
        static const char *const personal[] = {"T/home/Documents", "T/home/Downloads", "T/home/Desktop"};
        for (size_t i = 0; i < COUNT(personal); i++) {
                autofree char *app = str_format("%s/app", personal[i]);
                autofree char *path = tree_path(personal[i]);
                tree_make_directory(app);
                assert_true(directory_is_personal(tree_resolver(NULL), path));
                assert_false(is_own(personal[i]));
                assert_true(is_own(app));
        }
        tree_make_directory("T/app/Documents");
        tree_make_directory("T/home/Documentation");
        assert_true(is_own("T/app/Documents") && is_own("T/home/Documentation"));
        tree_set_mode("T/app", 0757);
        assert_false(is_own("T/app"));
        tree_set_mode("T/app", 0775);
        assert_true(is_own("T/app"));
}

static bool has_mark(const char *directory)
{
        return directory_has(directory, "mark");
}

static void test_search_upward(void **state)
{
        (void)state;
        struct box box = {0};
        tree_make_file("T/a/mark", "", 0644);
        tree_make_file("T/a/b/c/d/file", "", 0644);
        tree_make_file("T/home/mark", "", 0644);
        tree_make_file("T/home/x/y", "", 0644);
        autofree char *deep = tree_path("T/a/b/c/d"), *in_home = tree_path("T/home/x");
        assert_found(directory_find_above(tree_resolver(&box), deep, has_mark), "T/a");
        /* The home is not a program's own directory, so the search ends below it. */
        assert_found(directory_find_above(tree_resolver(&box), in_home, has_mark), NULL);

        /* The top of a writable grant is the last directory that the search looks at. */
        tree_add_grant(&box, "T/a/b", true, "--rw");
        assert_found(directory_find_above(tree_resolver(&box), deep, has_mark), NULL);
        tree_make_file("T/a/b/mark", "", 0644);
        assert_found(directory_find_above(tree_resolver(&box), deep, has_mark), "T/a/b");

        autofree char *grant = tree_path("T/a/b"), *below = tree_path("T/a/b/c"), *above = tree_path("T/a");
        assert_true(directory_is_writable_grant(tree_resolver(&box), grant));
        assert_false(directory_is_writable_grant(tree_resolver(&box), below));
        assert_false(directory_is_writable_grant(tree_resolver(&box), above));
        assert_false(directory_is_writable_grant(tree_resolver(NULL), grant));
        /* A grant within a grant is a top of its own. */
        tree_add_grant(&box, "T/a/b/c", true, "--rw");
        assert_true(directory_is_writable_grant(tree_resolver(&box), below));
        box_free(&box);
}

static void assert_root(const struct resolver *resolver, const char *start, const char *root)
{
        autofree char *path = tree_path(start);
        assert_found(directory_find_root(resolver, path), root);
}

static void test_roots(void **state)
{
        (void)state;
        struct box box = {0};
        tree_make_file("T/p/package.json", "{}", 0644);
        tree_make_file("T/p/src/deep/x.js", "", 0644);
        assert_root(tree_resolver(&box), "T/p/src/deep", "T/p");
        static const char *const markers[] = {"package.json", "pyproject.toml", "setup.py", ".venv",
                                              "deno.json"};
        for (size_t i = 0; i < COUNT(markers); i++) {
                autofree char *name = str_format("T/m%zu/%s", i, markers[i]);
                autofree char *start = str_format("T/m%zu/src", i), *root = str_format("T/m%zu", i);
                tree_make_file(name, "", 0644);
                tree_make_directory(start);
                assert_root(tree_resolver(&box), start, root);
        }
        /* The nearest root counts, and of several node_modules the outermost. */
        tree_make_file("T/p/src/setup.py", "", 0644);
        assert_root(tree_resolver(&box), "T/p/src/deep", "T/p/src");
        tree_make_file("T/p/node_modules/a/node_modules/b/package.json", "{}", 0644);
        assert_root(tree_resolver(&box), "T/p/node_modules/a/node_modules/b", "T/p/node_modules");
        /* bin with lib beside it is an installation; only the program's own bin counts. */
        tree_make_file("T/i/bin/tool", "", 0755);
        assert_root(tree_resolver(&box), "T/i/bin", NULL);
        tree_make_file("T/i/lib/x", "", 0644);
        assert_root(tree_resolver(&box), "T/i/bin", "T/i");
        tree_make_file("T/i/bin/more/tool", "", 0755);
        assert_root(tree_resolver(&box), "T/i/bin/more", NULL);
        /* An installation in the home itself would open the home. */
        tree_make_file("T/home/bin/tool", "", 0755);
        tree_make_file("T/home/lib/x", "", 0644);
        assert_root(tree_resolver(&box), "T/home/bin", NULL);
        assert_root(tree_resolver(&box), "T/none", NULL);

        /* In a writable grant without a marker, the grant is the root. */
        tree_make_file("T/p/w/x/y.js", "", 0644);
        assert_root(tree_resolver(&box), "T/p/w/x", "T/p");
        tree_add_grant(&box, "T/p/w", true, "--rw");
        assert_root(tree_resolver(&box), "T/p/w/x", "T/p/w");
        box_free(&box);
}

static void test_workspaces(void **state)
{
        (void)state;
        static const struct {
                const char *manifest, *root;
        } cases[] = {
            {"{\"workspaces\": [\"packages/*\"]}", "T/w"},
            {"{\"workspaces\": {\"packages\": []}}", "T/w"},
            {"{\"workspaces\": true}", "T/w/packages/a"},
            {"{}", "T/w/packages/a"},
            {"{", "T/w/packages/a"},
        };
        tree_make_file("T/w/packages/a/package.json", "{}", 0644);
        tree_make_file("T/w/packages/a/src/x.js", "", 0644);
        tree_make_file("T/w/packages/py/setup.py", "", 0644);
        assert_root(tree_resolver(NULL), "T/w/packages/a/src", "T/w/packages/a");
        for (size_t i = 0; i < COUNT(cases); i++) {
                tree_make_file("T/w/package.json", cases[i].manifest, 0644);
                assert_root(tree_resolver(NULL), "T/w/packages/a/src", cases[i].root);
        }
        tree_make_file("T/w/pnpm-workspace.yaml", "", 0644);
        assert_root(tree_resolver(NULL), "T/w/packages/a/src", "T/w");
        /* It is a workspace of npm packages only. */
        assert_root(tree_resolver(NULL), "T/w/packages/py", "T/w/packages/py");
}

static void test_what_may_be_written(void **state)
{
        (void)state;
        struct box box = {0};
        tree_make_file("T/w/file", "", 0644);
        tree_make_file("T/p/file", "", 0644);
        tree_make_link("T/w/out", "../p/file");
        tree_make_link("T/p/in", "../w/file");
        tree_add_grant(&box, "T/w", true, "--rw");
        tree_add_grant(&box, "T/p", false, "--ro");
        static const struct {
                const char *path;
                bool entry, content;
        } cases[] = {
            {"T/w/file", true, true}, {"T/p/file", false, false}, {"T/w/out", true, true},
            {"T/p/in", false, true},  {"T/w/none", true, true},   {"T/none/x", false, false},
        };
        for (size_t i = 0; i < COUNT(cases); i++) {
                autofree char *path = tree_path(cases[i].path);
                assert_int_equal(directory_may_be_written(tree_resolver(&box), path), cases[i].entry);
                assert_int_equal(directory_content_may_be_written(tree_resolver(&box), path),
                                 cases[i].content);
                assert_false(directory_may_be_written(tree_resolver(NULL), path));
                assert_false(directory_content_may_be_written(tree_resolver(NULL), path));
        }
        box_free(&box);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_host_tree),    TREE_TEST(test_kinds), TREE_TEST(test_own_directories),
            TREE_TEST(test_search_upward),       TREE_TEST(test_roots), TREE_TEST(test_workspaces),
            TREE_TEST(test_what_may_be_written),
        };
        return cmocka_run_group_tests_name("directories", tests, NULL, NULL);
}
