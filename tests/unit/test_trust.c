/* SPDX-License-Identifier: Apache-2.0
 *
 * Which references may grant what they lead to: by where the reference is and where it leads, never by what
 * it says.
 */
#include "command/trust.h"

#include "tree_rig.h"

#include <sys/stat.h>
#include <unistd.h>

static bool refers(const struct box *box, const char *path, const char *from, const char *target)
{
        autofree char *search = path ? tree_path(path) : NULL;
        autofree char *home = tree_path("T/home");
        autofree char *place = tree_path(from), *end = tree_path(target);
        struct resolver *resolver = tree_resolver(box);
        resolver->search_path = search;
        return trust_reference(resolver, place, end);
}

static void test_projects(void **state)
{
        (void)state;
        tree_make_file("T/p/package.json", "{}", 0644);
        tree_make_file("T/p/src/a.js", "", 0644);
        tree_make_file("T/p/lib/b.js", "", 0644);
        tree_make_file("T/other/file", "", 0644);
        tree_make_link("T/p/inward", "lib");
        tree_make_link("T/p/outward", "../other");
        assert_true(refers(NULL, NULL, "T/p/src/link", "T/p/lib/b.js"));
        assert_false(refers(NULL, NULL, "T/p/src/link", "T/other/file"));
        assert_true(refers(NULL, NULL, "T/p/src/link", "T/p/inward/b.js"));
        /* What is spelled within the project may lead out of it: that link is judged as a step of its own. */
        assert_true(refers(NULL, NULL, "T/p/src/link", "T/p/outward/file"));
        /* What is spelled outside may be inside in fact. */
        tree_make_link("T/back", "p/lib");
        assert_true(refers(NULL, NULL, "T/p/src/link", "T/back/b.js"));
        /* The host tree is visible anyway, also by a link. */
        tree_make_link("T/shell", "/bin/sh");
        assert_true(refers(NULL, NULL, "T/p/src/link", "/bin/sh"));
        assert_true(refers(NULL, NULL, "T/p/src/link", "T/shell"));
        /* A .git is not a bound of a project. */
        tree_make_file("T/r/.git/config", "", 0644);
        tree_make_file("T/r/a/x", "", 0644);
        tree_make_file("T/r/b/y", "", 0644);
        assert_false(refers(NULL, NULL, "T/r/a/link", "T/r/b/y"));
        assert_true(refers(NULL, NULL, "T/r/a/link", "T/r/a/x"));
        /* From a directory that everybody may write, a reference leads nowhere. */
        tree_make_file("T/shared/x", "", 0644);
        tree_set_mode("T/shared", 01777);
        assert_false(refers(NULL, NULL, "T/shared/link", "T/shared/x"));
        assert_false(refers(NULL, NULL, "T/none/link", "T/other/file"));
}

static void test_workspace_links(void **state)
{
        (void)state;
        tree_make_file("T/w/packages/a/package.json", "{}", 0644);
        tree_make_file("T/w/node_modules/b/package.json", "{}", 0644);
        tree_make_file("T/w/node_modules/x/index.js", "", 0644);
        /* Without a package around them, node_modules bound themselves. */
        assert_false(refers(NULL, NULL, "T/w/node_modules/a", "T/w/packages/a"));
        assert_true(refers(NULL, NULL, "T/w/node_modules/a", "T/w/node_modules/x"));
        assert_false(refers(NULL, NULL, "T/w/node_modules/x/link", "T/w/packages/a"));
        assert_true(refers(NULL, NULL, "T/w/node_modules/x/link", "T/w/node_modules/b/package.json"));
        tree_make_file("T/w/package.json", "{}", 0644);
        assert_true(refers(NULL, NULL, "T/w/node_modules/a", "T/w/packages/a"));
        assert_true(refers(NULL, NULL, "T/w/node_modules/x/link", "T/w/packages/a"));
        /* A name that only begins so is not node_modules. */
        tree_make_file("T/q/node_modules_x/y/z.js", "", 0644);
        tree_make_file("T/q/x.js", "", 0644);
        assert_false(refers(NULL, NULL, "T/q/node_modules_x/y/link", "T/q/x.js"));
}

static void test_places_of_the_user(void **state)
{
        (void)state;
        tree_make_file("T/home/tool/x", "", 0644);
        tree_make_file("T/data/tool/x", "", 0644);
        tree_make_file("T/home/.local/bin/y", "", 0755);
        tree_make_file("T/home/project/z", "", 0644);
        /* In the home itself and above it, and in directories whose files the user's shell runs. */
        assert_true(refers(NULL, NULL, "T/home/link", "T/data/tool/x"));
        assert_true(refers(NULL, NULL, "T/link", "T/data/tool/x"));
        assert_true(refers(NULL, NULL, "T/home/.local/bin/link", "T/data/tool/x"));
        assert_false(refers(NULL, NULL, "T/home/project/link", "T/data/tool/x"));
        /* Where everybody may write, nothing is only the user's. */
        tree_set_mode("T/home", 0777);
        assert_false(refers(NULL, NULL, "T/home/link", "T/data/tool/x"));
        tree_set_mode("T/home", 0755);
        /* The host tree is root's. */
        assert_true(refers(NULL, NULL, "/usr/bin/link", "T/data/tool/x"));
}

/* The home, by the name that the user gives it, may itself be a link in a place that is not the home's. */
static void test_home_that_is_a_link(void **state)
{
        (void)state;
        tree_make_file("T/disk/package.json", "{}", 0644);
        tree_make_link("T/disk/me", "../home");
        autofree char *home = tree_path("T/disk/me"), *target = tree_path("T/home");
        autofree char *other = tree_path("T/disk/you");
        struct resolver *resolver = tree_resolver(NULL);
        assert_false(trust_reference(resolver, home, target));
        resolver->home = home;
        assert_true(trust_reference(resolver, home, target));
        assert_false(trust_reference(resolver, other, target));
}

static bool refers_at(const char *from, const char *target, const char *home)
{
        struct resolver *resolver = tree_resolver(NULL);
        resolver->home = home;
        return trust_reference(resolver, from, target);
}

/* Run as root, the test becomes another account for a moment: for root no directory is closed. */
static void test_directories_of_root(void **state)
{
        (void)state;
        if (geteuid() != 0)
                skip();
        tree_make_file("T/etc/x", "", 0644);
        tree_make_file("T/data/x", "", 0644);
        tree_set_mode("T", 0755);
        autofree char *from = tree_path("T/etc/link"), *target = tree_path("T/data/x");
        autofree char *directory = tree_path("T/etc");
        assert_false(refers_at(from, target, "/nowhere"));
        static const struct {
                mode_t mode;
                uid_t owner;
                gid_t group;
                bool trusted;
        } cases[] = {
            {0755, 0, 0, true},  {0775, 0, 0, false},     {0775, 0, 12345, false},
            {0757, 0, 0, false}, {0755, 65534, 0, false}, {0755, 12345, 0, false},
        };
        for (size_t i = 0; i < COUNT(cases); i++) {
                assert_int_equal(chown(directory, cases[i].owner, cases[i].group), 0);
                assert_int_equal(chmod(directory, cases[i].mode), 0);
                assert_int_equal(setresuid(65534, 65534, 0), 0);
                bool trusted = refers_at(from, target, "/nowhere");
                assert_int_equal(setresuid(0, 0, 0), 0);
                assert_int_equal(trusted, cases[i].trusted);
        }
        /* What another account owns is not the caller's word, even in the home. */
        assert_int_equal(chown(directory, 0, 0), 0);
        assert_true(refers_at(from, target, directory));
        assert_int_equal(chown(directory, 12345, 0), 0);
        assert_false(refers_at(from, target, directory));
}

static void test_path(void **state)
{
        (void)state;
        tree_make_file("T/bin/run", "", 0755);
        tree_make_file("T/data/x", "", 0644);
        tree_make_file("T/tools/bin/y", "", 0755);
        tree_make_file("T/tools/lib/z", "", 0644);
        tree_make_file("T/tools/share/s", "", 0644);
        tree_make_file("T/manager/shims/node", "", 0755);
        tree_make_file("T/manager/installs/n", "", 0755);
        /* A directory of PATH names what it likes, and so does the rest of its prefix. */
        assert_false(refers(NULL, "/usr/bin", "T/bin/link", "T/data/x"));
        assert_true(refers(NULL, "/usr/bin:T/bin", "T/bin/link", "T/data/x"));
        assert_false(refers(NULL, "T/tools/lib", "T/tools/share/link", "T/data/x"));
        assert_true(refers(NULL, "T/tools/bin", "T/tools/share/link", "T/data/x"));
        assert_true(refers(NULL, "T/manager/shims", "T/manager/installs/link", "T/data/x"));
        /* bin without lib beside it, a project's bin and the home's bin have no prefix. */
        tree_make_file("T/bare/bin/y", "", 0755);
        tree_make_file("T/bare/share/s", "", 0644);
        assert_false(refers(NULL, "T/bare/bin", "T/bare/share/link", "T/data/x"));
        tree_make_file("T/tools/package.json", "{}", 0644);
        assert_false(refers(NULL, "T/tools/bin", "T/tools/share/link", "T/data/x"));
        tree_make_file("T/home/bin/y", "", 0755);
        tree_make_file("T/home/lib/z", "", 0644);
        tree_make_file("T/home/project/s", "", 0644);
        assert_false(refers(NULL, "T/home/bin", "T/home/project/link", "T/data/x"));
        /* A target in PATH itself is what env would name; one in its prefix is not. */
        assert_true(refers(NULL, "T/bin", "T/data/link", "T/bin/run"));
        assert_false(refers(NULL, "T/manager/shims", "T/data/link", "T/manager/installs/n"));
        assert_false(refers(NULL, "/", "T/data/link", "/etc/passwd"));
}

/* An entry of PATH counts only where the user wrote it. */
static void test_path_that_a_server_decides(void **state)
{
        (void)state;
        tree_make_file("T/data/x", "", 0644);
        tree_make_file("T/p/real/run", "", 0755);
        tree_make_link("T/p/bin", "real");
        tree_make_link("T/home/tools", "../p/real");
        assert_true(refers(NULL, "T/p/real", "T/p/real/link", "T/data/x"));
        assert_false(refers(NULL, "T/p/bin", "T/p/real/link", "T/data/x"));
        assert_true(refers(NULL, "T/home/tools", "T/p/real/link", "T/data/x"));
        assert_int_equal(chdir(tree_directory), 0);
        assert_false(refers(NULL, "p/real", "T/p/real/link", "T/data/x"));
        assert_int_equal(chdir("/"), 0);
}

static bool way(const struct box *box, const char *path, const char *from, const char *to)
{
        const struct resolver *resolver = tree_resolver(box);
        autofree char *place = tree_path(path);
        char *found_from = NULL, *found_to = NULL;
        bool trusted = trust_way(resolver, place, &found_from, &found_to);
        assert_int_equal(trust_way(resolver, place, NULL, NULL), trusted);
        assert_found(found_from, from);
        assert_found(found_to, to);
        return trusted;
}

static void test_ways(void **state)
{
        (void)state;
        struct box box = {0};
        tree_make_file("T/p/package.json", "{}", 0644);
        tree_make_file("T/p/src/x", "", 0644);
        tree_make_file("T/other/deep/x", "", 0644);
        tree_make_link("T/p/in", "src");
        tree_make_link("T/p/out", "../other");
        tree_make_link("T/p/dots", "in/../../other");
        assert_true(way(&box, "T/p/src/x", NULL, NULL));
        assert_true(way(&box, "T/p/in/x", NULL, NULL));
        assert_false(way(&box, "T/p/out/deep/x", "T/p/out", "T/other"));
        /* Folded as text this stays in the project, in fact it leaves it. */
        tree_make_link("T/p/deep", "../other/deep");
        tree_make_link("T/p/sly", "deep/../x");
        tree_make_file("T/p/x", "", 0644);
        tree_make_file("T/other/x", "", 0644);
        assert_false(way(&box, "T/p/sly", "T/p/sly", "T/p/x"));
        /* Folded as text this leaves the project, in fact it stays there: the text counts too. */
        tree_make_file("T/p/a/b/y", "", 0644);
        tree_make_file("T/p/y", "", 0644);
        tree_make_link("T/p/ab", "a/b");
        tree_make_link("T/p/odd", "ab/../../y");
        assert_false(way(&box, "T/p/odd", "T/p/odd", "T/y"));
        /* Of two links, the one that leaves the project is the one in doubt. */
        tree_make_link("T/p/two", "out/x");
        assert_false(way(&box, "T/p/two", "T/p/out", "T/other"));
        /* mounts_add_program() refuses links in a writable grant. */
        tree_add_grant(&box, "T/p", true, "--rw");
        assert_true(way(&box, "T/p/out/deep/x", NULL, NULL));
        box_free(&box);
}

static bool spelled(const char *path)
{
        autofree char *place = tree_path(path);
        return trust_spelled_way(tree_resolver(NULL), place);
}

static void test_spelled_ways(void **state)
{
        (void)state;
        tree_make_file("T/p/package.json", "{}", 0644);
        tree_make_file("T/p/a/b/x", "", 0644);
        tree_make_file("T/other/deep/x", "", 0644);
        tree_make_link("T/p/in", "a/b");
        tree_make_link("T/p/out", "../other/deep");
        assert_true(spelled("T/p/a/../a/b/x"));
        assert_true(spelled("T/p/in/../b/x"));
        assert_false(spelled("T/p/out/../deep/x"));
        assert_false(spelled("T/p/out/.."));
        assert_false(spelled("T/p/a/../out/x"));
        assert_false(spelled("T/p/none/../a/b/x"));
}

static void test_installations(void **state)
{
        (void)state;
        static const struct {
                const char *path, *installation;
        } cases[] = {
            {"T/node/bin/node", "T/node"},
            {"T/node/lib/m/x.js", "T/node"},
            {"T/node", "T/node"},
            {"T/link", "T/node"},
            {"T/node/envs/mine/x", NULL},
            {"T/none", NULL},
            {"T/brew/.linuxbrew/Cellar/a/x", "T/brew/.linuxbrew"},
        };
        tree_make_file("T/node/bin/node", "", 0755);
        tree_make_file("T/node/include/node/node.h", "", 0644);
        tree_make_file("T/node/lib/m/x.js", "", 0644);
        tree_make_file("T/node/envs/mine/x", "", 0644);
        tree_make_link("T/link", "node/bin/node");
        tree_make_file("T/brew/.linuxbrew/Cellar/a/x", "", 0644);
        tree_make_file("T/brew/.linuxbrew/bin/x", "", 0644);
        for (size_t i = 0; i < COUNT(cases); i++) {
                autofree char *path = tree_path(cases[i].path);
                assert_found(trust_find_installation(tree_resolver(NULL), path), cases[i].installation);
        }
        autofree char *program = tree_path("T/node/bin/node");
        tree_make_file("T/node/package.json", "{}", 0644);
        assert_found(trust_find_installation(tree_resolver(NULL), program), NULL);
        tree_remove_file("T/node/package.json");
        tree_make_file("T/node/.git/config", "", 0644);
        assert_found(trust_find_installation(tree_resolver(NULL), program), NULL);
}

static void test_what_is_nothing_new(void **state)
{
        (void)state;
        struct box box = {0};
        tree_make_file("T/seen/x", "", 0644);
        tree_make_file("T/private/x", "", 0644);
        tree_make_file("T/node/bin/node", "", 0755);
        tree_make_file("T/node/include/node/node.h", "", 0644);
        tree_add_grant(&box, "T/seen", false, "--ro");
        autofree char *seen = tree_path("T/seen/x"), *private = tree_path("T/private/x");
        autofree char *node = tree_path("T/node/bin/node");
        assert_true(trust_shows_nothing_new(tree_resolver(&box), seen));
        assert_false(trust_shows_nothing_new(tree_resolver(NULL), seen));
        assert_false(trust_shows_nothing_new(tree_resolver(&box), private));
        assert_true(trust_shows_nothing_new(tree_resolver(&box), node));
        assert_true(trust_shows_nothing_new(tree_resolver(&box), "/usr/bin/env"));
        box_free(&box);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            TREE_TEST(test_projects),
            TREE_TEST(test_workspace_links),
            TREE_TEST(test_places_of_the_user),
            TREE_TEST(test_home_that_is_a_link),
            TREE_TEST(test_directories_of_root),
            TREE_TEST(test_path),
            TREE_TEST(test_path_that_a_server_decides),
            TREE_TEST(test_ways),
            TREE_TEST(test_spelled_ways),
            TREE_TEST(test_installations),
            TREE_TEST(test_what_is_nothing_new),
        };
        return cmocka_run_group_tests_name("trust", tests, NULL, NULL);
}
