/* SPDX-License-Identifier: Apache-2.0
 *
 * The notes before a command runs: each is there for what will probably not work, and only for that.
 */
#include "resolve/notes.h"

#include "command/toolchain.h"
#include "lib/messages.h"

#include <stdlib.h>

#include "tree_rig.h"

static struct box box;
static struct heard heard;

/* A box whose command starts in T/caller, the caller's working directory. */
static int set_up(void **state)
{
        if (tree_set_up(state) != 0)
                return -1;
        tree_make_directory("T/caller");
        box = (struct box){.cwd = tree_path("T/caller"), .home = tree_path("T/home")};
        heard = (struct heard){""};
        messages_send_to(hear, &heard);
        return 0;
}

static int tear_down(void **state)
{
        messages_send_to(NULL, NULL);
        box_free(&box);
        return tree_tear_down(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void say_at(const char *cwd, bool fetches)
{
        struct toolchain toolchain = {.fetches = fetches};
        struct resolver *resolver = tree_resolver(NULL);
        resolver->box = &box;
        resolver->work = cwd;
        resolver->toolchain = &toolchain;
        command_read(&box.argv, &toolchain.command);
        notes_say(resolver);
        toolchain_free(&toolchain);
}

static void say(const char *command, bool fetches)
{
        autofree char *cwd = tree_path("T/caller");
        str_list_free(&box.argv);
        box.argv = tree_words(command);
        heard = (struct heard){""};
        say_at(cwd, fetches);
}

static void assert_quiet(const char *command)
{
        say(command, false);
        assert_string_equal(heard.text, "");
}

/* One note, which has this part. */
static void assert_note(const char *command, const char *part)
{
        autofree char *wanted = tree_path(part);
        say(command, false);
        if (!strstr(heard.text, wanted))
                fail_msg("%s: \"%s\", not \"%s\"", command, heard.text, wanted);
        assert_ptr_equal(strchr(heard.text, '\n'), heard.text + strlen(heard.text) - 1);
}

/* The command starts in another directory than the caller's. */
static void start_in(const char *directory)
{
        free(box.cwd);
        box.cwd = tree_path(directory);
}

static void test_download(void **state)
{
        (void)state;
        struct error error = {0};
        assert_quiet("/opt/bin/npx tool");
        say("/opt/bin/npx tool", true);
        assert_non_null(strstr(heard.text, "note: npx downloads what is not installed"));
        assert_true(destinations_add(&box.network.rules.allow, DESTINATION_ALLOW, "a.test", &error));
        say("/opt/bin/npx tool", true);
        assert_string_equal(heard.text, "");
}

static void test_container_engine(void **state)
{
        (void)state;
        static const char *const engines[] = {"docker run x", "/usr/bin/podman run x", "nerdctl run x"};
        for (size_t i = 0; i < COUNT(engines); i++) {
                assert_note(engines[i], "cannot start containers");
                assert_true(notes_is_container_engine(&box));
        }
        assert_quiet("dockerd docker podman");
        assert_false(notes_is_container_engine(&box));
        assert_quiet("/docker/true");
        assert_false(notes_is_container_engine(&box));
}

static void test_tilde(void **state)
{
        (void)state;
        assert_note("sh ~/x ~/y", "write the whole path instead of ~/x");
        assert_note("~/bin/x", "instead of ~/bin/x");
        assert_quiet("sh ~ ~user/x a~/x /~/x -~/x");
}

static void test_relative_path(void **state)
{
        (void)state;
        tree_make_file("T/caller/src/server.py", "", 0644);
        tree_make_file("T/caller/plain.py", "", 0644);
        tree_make_file("T/caller/-x/y", "", 0644);
        assert_quiet("python3 src/server.py");
        start_in("T/home");
        assert_note("python3 src/server.py",
                    "the working directory T/caller is not visible inside; the command "
                    "starts in T/home; --ro . would grant it");
        assert_note("python3 -u none/x src/server.py", "is not visible inside");
        /* The command word, a name, an option, what is not there, and an absolute path. */
        assert_quiet("src/server.py");
        assert_quiet("python3 plain.py");
        assert_quiet("python3 -x/y");
        assert_quiet("python3 src/none.py");
        assert_quiet("python3 T/caller/src/server.py");
}

static void test_python_module(void **state)
{
        (void)state;
        tree_make_file("T/caller/package/__init__.py", "", 0644);
        tree_make_file("T/caller/single.py", "", 0644);
        assert_quiet("python3 -m package");
        start_in("T/home");
        assert_note("python3 -m package", "--ro . would grant it");
        assert_note("python3 -m package.part.deep", "--ro . would grant it");
        assert_note("python3 -m single", "--ro . would grant it");
        assert_quiet("python3 -m elsewhere");
        assert_quiet("python3 -m package_2");
        assert_quiet("sh package single");
}

/* hutch gives no advice that it would refuse: nobody may grant the root directory. */
static void test_working_directory_that_is_refused(void **state)
{
        (void)state;
        box.argv = tree_words("ls usr/bin");
        say_at("/", false);
        assert_non_null(strstr(heard.text, "keep what it needs in a separate directory"));
        assert_null(strstr(heard.text, "--ro ."));
}

static void test_secrets_beside_the_program(void **state)
{
        (void)state;
        tree_make_file("T/app/.env", "", 0600);
        tree_make_file("T/app/server.py", "", 0644);
        tree_make_directory("T/other");
        tree_add_grant(&box, "T/other", false, "program of the command");
        assert_quiet("sh");
        tree_add_grant(&box, "T/app/server.py", false, "program of the command");
        assert_quiet("sh");
        tree_add_grant(&box, "T/app", false, "program of the command");
        assert_note("sh", "T/app/.env is readable inside, because T/app (program of the command) is");
        box_add_mount(&box, &(struct mount){.kind = MOUNT_MASK,
                                            .destination = tree_path("T/app/.env"),
                                            .origin = ORIGIN_OPTION,
                                            .why = str_copy("--hide")});
        assert_quiet("sh");
}

/* What the user granted, and what every sandbox has, is known to the user. */
static void test_secrets_in_other_mounts(void **state)
{
        (void)state;
        tree_make_file("T/asked/.env", "", 0600);
        tree_make_file("T/base/.env", "", 0600);
        tree_add_grant(&box, "T/asked", false, "--ro");
        tree_add_grant(&box, "T/base", false, "base");
        assert_quiet("sh");
}

/* The notes of other modules are said, too. */
static void test_notes_of_other_modules(void **state)
{
        (void)state;
        tree_make_file("T/app/node_modules/.package-lock.json", "{}", 0644);
        tree_make_file("T/elsewhere/package.json", "{}", 0644);
        tree_make_link("T/app/node_modules/linked", "T/elsewhere");
        tree_add_grant(&box, "T/app", false, "package of the command");
        assert_note("sh", "T/elsewhere");
        tree_make_file("T/tree/.git", "gitdir: T/repo/.git/worktrees/tree\n", 0644);
        tree_make_file("T/repo/.git/worktrees/tree/gitdir", "T/tree/.git\n", 0644);
        tree_make_file("T/repo/.git/worktrees/tree/commondir", "../..\n", 0644);
        tree_add_grant(&box, "T/tree", false, "--ro");
        say("sh", false);
        autofree char *wanted = tree_path("add --ro T/repo/.git");
        if (!strstr(heard.text, wanted))
                fail_msg("\"%s\"", heard.text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            TEST(test_download),
            TEST(test_container_engine),
            TEST(test_tilde),
            TEST(test_relative_path),
            TEST(test_python_module),
            TEST(test_working_directory_that_is_refused),
            TEST(test_secrets_beside_the_program),
            TEST(test_secrets_in_other_mounts),
            TEST(test_notes_of_other_modules),
        };
        return cmocka_run_group_tests_name("notes", tests, NULL, NULL);
}
