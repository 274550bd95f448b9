/* SPDX-License-Identifier: Apache-2.0
 *
 * Which paths Git would take programs from: of work trees, bare repositories, linked worktrees, submodules,
 * and of what configurations name. The repositories are made by hand, as a server could make them.
 */
#include "grants/git.h"
#include "grants_rig.h"
#include "lib/fd.h"

#include <stdio.h>

static struct str_list places;

static void find(void)
{
        str_list_free(&places);
        git_find(&rig.resolver, &places);
}

static void expect_place(const char *relative)
{
        if (!str_list_has(&places, at(relative)))
                fail_msg("%s was not found", relative);
}

static void expect_no_place(const char *relative)
{
        if (str_list_has(&places, at(relative)))
                fail_msg("%s was found", relative);
}

static void make_repository(const char *relative)
{
        char path[4096];
        snprintf(path, sizeof(path), "%s/objects", relative);
        make_directory(path);
        snprintf(path, sizeof(path), "%s/HEAD", relative);
        make_file(path, "ref: refs/heads/main\n");
}

static int end_test(void **state)
{
        str_list_free(&places);
        return rig_tear_down(state);
}

#define git_test(test) cmocka_unit_test_setup_teardown(test, rig_set_up, end_test)

static void expect_pointer(const char *content, const char *prefix, const char *expected)
{
        make_file("pointer", content);
        autofree char *found = git_read_pointer(&rig.held.walker, at("pointer"), prefix, rig.root);
        if (expected ? !found || !str_equal(found, at(expected)) : found != NULL)
                fail_msg("\"%s\" leads to %s", content, found ? found : "nothing");
}

static void test_a_file_that_names_a_repository(void **state)
{
        (void)state;
        make_directory("target");
        make_link("link", "target");
        autofree char *absolute = str_format("gitdir: %s\n", at("target"));
        expect_pointer("gitdir: target\n", "gitdir: ", "target");
        expect_pointer("gitdir: link\r\nmore\n", "gitdir: ", "target");
        expect_pointer("gitdir: target", "gitdir: ", "target");
        expect_pointer(absolute, "gitdir: ", "target");
        expect_pointer("target\n", "", "target");
        expect_pointer("target\n", "gitdir: ", NULL);
        expect_pointer("gitdir: none\n", "gitdir: ", NULL);
        expect_pointer("gitdir: \n", "gitdir: ", NULL);
        expect_pointer("", "gitdir: ", NULL);
        assert_null(git_read_pointer(&rig.held.walker, at("missing"), "", rig.root));
        assert_null(git_read_pointer(&rig.held.walker, at("target"), "", rig.root));
}

static void test_a_work_tree_and_a_bare_repository(void **state)
{
        (void)state;
        make_repository("w/project/.git");
        make_repository("w/bare");
        make_file("w/common/HEAD", "");
        make_file("w/common/commondir", "../bare\n");
        make_file("w/half/HEAD", "");
        make_directory("w/halves/objects");
        make_repository("ro/.git");
        grant("w", NULL, true, "--rw");
        grant("ro", NULL, false, "--ro");
        find();
        static const char *const names[] = {"config", "config.worktree", "hooks", "commondir"};
        static const char *const repositories[] = {"w/project/.git", "w/bare", "w/common"};
        for (size_t i = 0; i < COUNT(repositories); i++)
                for (size_t j = 0; j < COUNT(names); j++) {
                        autofree char *place = str_format("%s/%s", repositories[i], names[j]);
                        expect_place(place);
                }
        expect_no_place("w/half/config");
        expect_no_place("w/halves/config");
        expect_no_place("ro/.git/config");
        expect_no_place("w/bare/gitdir");
        expect_no_place("w/project/config");
        assert_string_equal(rig.said, "");
}

static void test_grants_that_are_a_repository_or_in_one(void **state)
{
        (void)state;
        make_repository("project/.git");
        make_directory("project/sub/deep");
        make_directory("empty/.git");
        grant("project/sub/deep", NULL, true, "--rw");
        find();
        expect_place("project/.git/hooks");
        box_free(&rig.box);
        grant("empty/.git", NULL, true, "--rw");
        find();
        expect_place("empty/.git/hooks");
        /* Neither a file nor an overlay is searched. */
        box_free(&rig.box);
        grant("project", NULL, true, "--overlay")->kind = MOUNT_OVERLAY;
        find();
        expect_no_place("project/.git/hooks");
        box_free(&rig.box);
        grant("project/.git/HEAD", NULL, true, "--rw");
        find();
        expect_no_place("project/.git/hooks");
}

static void test_linked_worktrees_and_submodules(void **state)
{
        (void)state;
        make_repository("main/.git");
        make_file("main/.git/worktrees/linked/gitdir", "../../../linked/.git\n");
        make_file("main/.git/worktrees/linked/commondir", "../..\n");
        make_file("main/.git/worktrees/linked/HEAD", "");
        make_file("linked/.git", "gitdir: ../main/.git/worktrees/linked\n");
        grant("linked", NULL, true, "--rw");
        find();
        expect_place("linked/.git/hooks");
        expect_place("main/.git/hooks");
        expect_place("main/.git/worktrees/linked/gitdir");
        expect_place("main/.git/worktrees/linked/commondir");
        /* The repository that has them, and a submodule of a submodule. */
        box_free(&rig.box);
        make_repository("main/.git/modules/a");
        make_repository("main/.git/modules/a/modules/b");
        grant("main", NULL, true, "--rw");
        find();
        expect_place("main/.git/modules/a/hooks");
        expect_place("main/.git/modules/a/modules/b/hooks");
        expect_place("main/.git/worktrees/linked/config.worktree");
}

static void test_a_git_that_is_a_link(void **state)
{
        (void)state;
        make_repository("elsewhere");
        make_directory("w");
        make_link("w/.git", "../elsewhere");
        grant("w", NULL, true, "--rw");
        find();
        expect_place("w/.git/hooks");
        expect_place("elsewhere/hooks");
}

static void test_what_configurations_name(void **state)
{
        (void)state;
        make_repository("w/.git");
        make_directory("home/inc");
        make_directory("w/real");
        make_link("w/ways", "real");
        make_file("w/.git/config", "[core]\n\thooksPath = .githooks/\n"
                                   "[include]\n\tpath = ../included\n\tpath = ~/inc/mine\n\tpath = ~other/x\n"
                                   "\tpath = %(prefix)/etc\n\tpath = :(optional)../optional\n\tpath = ~\n"
                                   "[include]\n\tpath = ../loop\n\tpath = ../ways/later\n");
        make_file("w/included", "[core]\n\thooksPath = \"/abs/olute\"\n[include]\n\tpath = nested\n");
        make_file("w/nested", "[core]\n\thooksPath = .husky/_\n");
        make_file("w/loop", "[include]\n\tpath = loop\n\tpath = .git/config\n");
        make_file("home/inc/mine", "[core]\n\thooksPath = ~/hooks\n");
        make_file("w/.git/config.worktree", "[core]\n\thooksPath = worktree-hooks\n");
        grant("w", NULL, true, "--rw");
        find();
        expect_place("w/.githooks");
        expect_place("w/included");
        expect_place("w/nested");
        expect_place("w/optional");
        expect_place("w/loop");
        expect_place("w/real/later");
        expect_place("w/.husky");
        expect_no_place("w/.husky/_");
        expect_place("w/worktree-hooks");
        expect_place("home/inc/mine");
        expect_place("home/hooks");
        assert_true(str_list_has(&places, "/abs/olute"));
        expect_no_place("w/.git/~other/x");
        expect_no_place("w/.git/%(prefix)/etc");
        assert_null(strstr(rig.said, "note"));
        expect_no_place("w/.git/etc");
        expect_no_place("home");
}

static void test_hooks_of_the_users_configuration_are_of_every_repository(void **state)
{
        (void)state;
        make_repository("w/a/.git");
        make_repository("w/b.git");
        make_file("home/.gitconfig", "[core]\n\thooksPath = shared\n");
        make_file("home/.config/git/config", "[core]\n\thooksPath = xdg\n");
        grant("w", NULL, true, "--rw");
        find();
        expect_place("w/a/shared");
        expect_place("w/b.git/shared");
        expect_place("w/a/xdg");
        /* Where XDG_CONFIG_HOME leads elsewhere, and where it is not absolute. */
        make_file("moved/git/config", "[core]\n\thooksPath = moved\n");
        assert_int_equal(setenv("XDG_CONFIG_HOME", at("moved"), 1), 0);
        find();
        expect_place("w/a/moved");
        expect_no_place("w/a/xdg");
        assert_int_equal(setenv("XDG_CONFIG_HOME", "moved", 1), 0);
        find();
        expect_place("w/a/xdg");
        assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
}

static void test_hooks_that_are_the_grant_are_a_note(void **state)
{
        (void)state;
        make_repository("w/.git");
        make_file("w/.git/config", "[core]\n\thooksPath = ..\n");
        grant("w", NULL, true, "--rw");
        find();
        assert_true(was_said("core.hooksPath makes git run what is in"));
        rig.said[0] = 0;
        rig.box.mounts[0].writable = false;
        find();
        assert_string_equal(rig.said, "");
        /* Beside it is another directory. */
        box_free(&rig.box);
        make_file("w/.git/config", "[core]\n\thooksPath = ../hooks\n");
        grant("w", NULL, true, "--rw");
        find();
        assert_string_equal(rig.said, "");
        expect_place("hooks");
}

static void test_the_bounds(void **state)
{
        (void)state;
        char path[64];
        make_repository("w/a/b/c/d/.git");
        make_repository("w/a/b/c/d/e/.git");
        make_repository("w/node_modules/x/.git");
        make_repository("w/.git/objects/x/.git");
        grant("w", NULL, true, "--rw");
        find();
        expect_place("w/a/b/c/d/.git/hooks");
        expect_no_place("w/a/b/c/d/e/.git/hooks");
        expect_no_place("w/node_modules/x/.git/hooks");
        expect_no_place("w/.git/objects/x/.git/hooks");
        assert_string_equal(rig.said, "");
        for (unsigned i = 0; i < 256; i++) {
                snprintf(path, sizeof(path), "many/%u", i);
                make_repository(path);
        }
        box_free(&rig.box);
        grant("many", NULL, true, "--rw");
        find();
        assert_string_equal(rig.said, "");
        for (unsigned i = 0; i < 256; i++) {
                snprintf(path, sizeof(path), "many/%u/hooks", i);
                expect_place(path);
        }
        make_repository("many/256");
        find();
        assert_true(was_said("holds too much to look for every Git repository"));
}

static void test_too_many_directories_are_a_note(void **state)
{
        (void)state;
        char path[64];
        for (unsigned i = 0; i < 2000; i++) {
                snprintf(path, sizeof(path), "w/%u", i);
                make_directory(path);
        }
        make_repository("after/.git");
        grant("w", NULL, true, "--rw");
        grant("after", NULL, true, "--rw");
        find();
        assert_true(was_said("holds too much to look for every Git repository"));
        expect_place("after/.git/hooks"); /* each grant has its own budget */
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            git_test(test_a_file_that_names_a_repository),
            git_test(test_a_work_tree_and_a_bare_repository),
            git_test(test_grants_that_are_a_repository_or_in_one),
            git_test(test_linked_worktrees_and_submodules),
            git_test(test_a_git_that_is_a_link),
            git_test(test_what_configurations_name),
            git_test(test_hooks_of_the_users_configuration_are_of_every_repository),
            git_test(test_hooks_that_are_the_grant_are_a_note),
            git_test(test_the_bounds),
            git_test(test_too_many_directories_are_a_note),
        };
        return cmocka_run_group_tests(tests, rig_begin, rig_end);
}
