/* SPDX-License-Identifier: Apache-2.0
 *
 * The note about a repository that is not visible: which are named, and which a work tree alone claims.
 */
#include "grants/repositories.h"
#include "grants_rig.h"
#include "lib/fd.h"

static void expect_note(const char *tree, const char *option, const char *repository)
{
        rig.said[0] = 0;
        repositories_note(&rig.resolver);
        autofree char *text =
            str_format("the Git repository of %s is %s, which is not visible inside; for git to work there, "
                       "add %s %s\n",
                       at(tree), at(repository), option, at(repository));
        if (!was_said(text))
                fail_msg("no note about %s, but: %s", repository, rig.said);
}

static void expect_no_note(void)
{
        rig.said[0] = 0;
        repositories_note(&rig.resolver);
        assert_string_equal(rig.said, "");
}

static void make_worktree(void)
{
        make_file("linked/.git", "gitdir: ../main/.git/worktrees/linked\n");
        make_file("main/.git/worktrees/linked/gitdir", "../../../../linked/.git\n");
        make_file("main/.git/worktrees/linked/commondir", "../..\n");
}

static void test_a_linked_worktree(void **state)
{
        (void)state;
        make_worktree();
        grant("linked", NULL, true, "--rw");
        expect_note("linked", "--rw", "main/.git");
        rig.box.mounts[0].writable = false;
        expect_note("linked", "--ro", "main/.git");
        grant("main/.git", NULL, true, "--rw");
        expect_no_note();
}

static void test_a_repository_that_does_not_say_the_same(void **state)
{
        (void)state;
        make_worktree();
        make_file("another/.git", "");
        grant("linked", NULL, true, "--rw");
        make_file("main/.git/worktrees/linked/gitdir", "../../../../another/.git\n");
        expect_no_note();
        make_file("main/.git/worktrees/linked/gitdir", "../../../../linked/.git\n");
        make_directory("else");
        make_file("main/.git/worktrees/linked/commondir", "../../../../else\n"); /* does not hold it */
        expect_no_note();
        assert_int_equal(unlink(at("main/.git/worktrees/linked/commondir")), 0);
        expect_no_note();
        make_worktree();
        expect_note("linked", "--rw", "main/.git");
}

static void test_a_submodule(void **state)
{
        (void)state;
        make_directory("outer/.git/modules/sub");
        make_file("outer/sub/.git", "gitdir: ../.git/modules/sub\n");
        make_file("far/.git", "gitdir: ../outer/.git/modules/sub\n");
        grant("outer/sub", NULL, true, "--rw");
        expect_note("outer/sub", "--rw", "outer/.git");
        box_free(&rig.box);
        grant("far", NULL, true, "--rw"); /* not inside of the work tree that holds the repository */
        expect_no_note();
        make_directory("plain/modules/sub");
        make_file("far/.git", "gitdir: ../plain/modules/sub\n");
        expect_no_note();
}

static void test_what_is_not_looked_at(void **state)
{
        (void)state;
        make_worktree();
        grant("linked", NULL, true, "base");
        grant("linked/.git", NULL, true, "--rw");
        expect_no_note();
        box_free(&rig.box);
        grant("linked", NULL, false, "--overlay")->kind = MOUNT_OVERLAY;
        expect_no_note();
        box_free(&rig.box);
        make_directory("whole/.git");
        grant("whole", NULL, true, "--rw");
        expect_no_note();
}

static void test_a_repository_that_may_not_be_granted(void **state)
{
        (void)state;
        make_file("linked/.git", "gitdir: ../home/.ssh/.git/worktrees/linked\n");
        make_file("home/.ssh/.git/worktrees/linked/gitdir", "../../../../../linked/.git\n");
        make_file("home/.ssh/.git/worktrees/linked/commondir", "../..\n");
        grant("linked", NULL, true, "--rw");
        expect_no_note();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            rig_test(test_a_linked_worktree),
            rig_test(test_a_repository_that_does_not_say_the_same),
            rig_test(test_a_submodule),
            rig_test(test_what_is_not_looked_at),
            rig_test(test_a_repository_that_may_not_be_granted),
        };
        return cmocka_run_group_tests(tests, rig_begin, rig_end);
}
