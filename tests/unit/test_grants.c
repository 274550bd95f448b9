/* SPDX-License-Identifier: Apache-2.0
 *
 * Judging grants: what is refused, what --unsafe-grant permits, and what a link of an earlier run can do.
 */
#include "grants/grants.h"
#include "grants/mounts.h"
#include "grants_rig.h"
#include "lib/fd.h"

#include <errno.h>
#include <sys/stat.h>

static bool add(const char *relative, const char *destination, bool writable)
{
        return grants_add(&rig.resolver, at(relative), destination, writable, writable ? "--rw" : "--ro");
}

static void test_a_grant_by_a_link_is_shown_at_both_paths(void **state)
{
        (void)state;
        make_directory("real");
        make_link("link", "real");
        assert_true(add("link", NULL, true));
        assert_true(mount_at("real")->writable);
        assert_string_equal(mount_at("real")->why, "--rw");
        assert_true(mount_at("link")->kind == MOUNT_LINK);
        /* At another place, the link is not needed. */
        box_free(&rig.box);
        assert_true(add("link", "/inside", false));
        assert_int_equal(rig.box.mount_count, 1);
        assert_string_equal(rig.box.mounts[0].source, at("real"));
        assert_string_equal(rig.box.mounts[0].destination, "/inside");
        assert_false(rig.box.mounts[0].writable);
}

static void test_a_destination_follows_the_links_of_the_box(void **state)
{
        (void)state;
        make_directory("real");
        mounts_add_link(&rig.box, "/bin", "usr/bin", REASON_BASE);
        assert_true(add("real", "/bin/x", false));
        assert_non_null(mounts_find_exact(&rig.box, "/usr/bin/x"));
}

static void test_what_does_not_exist(void **state)
{
        (void)state;
        assert_false(add("none", NULL, false));
        assert_null(strstr(rig.error.text, "variable"));
        expect_error(EXIT_SETUP, "No such file or directory: check the path after --ro");
        assert_false(add("$HOME", NULL, false));
        expect_error(EXIT_SETUP, "no variable is expanded");
        assert_int_equal(rig.box.mount_count, 0);
}

static void test_what_voids_the_sandbox_is_refused(void **state)
{
        (void)state;
        make_directory("home/.ssh");
        make_directory("home/.local/bin");
        make_link("innocent", "home/.ssh");
        assert_false(add("innocent", NULL, false));
        expect_error(EXIT_SETUP, "it holds keys");
        assert_false(add("home", NULL, false));
        expect_error(EXIT_SETUP, "home directory");
        assert_false(add("home/.local/bin", NULL, true));
        expect_error(EXIT_SETUP, "runs outside the sandbox");
        assert_true(add("home/.local/bin", NULL, false));
        assert_false(grants_add(&rig.resolver, "/", NULL, false, "--ro"));
        expect_error(EXIT_SETUP, "refusing to grant /: ");
        assert_int_equal(rig.box.unsafe_grants.count, 0);
        assert_false(was_said("voids"));
}

static void test_unsafe_grant_permits_exactly_its_path(void **state)
{
        (void)state;
        make_directory("home/.ssh/below");
        make_link("keys", "home/.ssh");
        grants_permit_unsafe(&rig.resolver, at("keys"));
        grants_permit_unsafe(&rig.resolver, at("none"));
        assert_int_equal(rig.held.unsafe.count, 1);
        assert_false(add("home/.ssh/below", NULL, false));
        expect_error(EXIT_SETUP, "it holds keys");
        assert_true(add("home/.ssh", NULL, false));
        assert_true(was_said("the command can read it"));
        assert_true(add("home/.ssh", "/keys", true));
        assert_true(was_said("the command can read and change it"));
        assert_int_equal(rig.box.unsafe_grants.count, 1);
        assert_string_equal(rig.box.unsafe_grants.values[0], at("home/.ssh"));
        grants_permit_unsafe(&rig.resolver, "/");
        assert_false(grants_add(&rig.resolver, "/", NULL, false, "--ro"));
        expect_error(EXIT_SETUP, "refusing to grant /: ");
}

static bool refuses_alias(void)
{
        bool refused = !add("alias", NULL, false) && strstr(rig.error.text, "/home/.ssh too, and it holds");
        rig.error = (struct error){0};
        return refused && add("other", NULL, false);
}

static void test_another_path_of_the_host_is_judged_too(void **state)
{
        (void)state;
        make_directory("home/.ssh");
        make_directory("alias");
        make_directory("other");
        with_alias("home/.ssh", "alias", refuses_alias);
}

static void test_what_the_sandbox_needs_stays(void **state)
{
        (void)state;
        make_directory("data");
        const struct mount proc = {
            .kind = MOUNT_PROC, .destination = str_copy(at("data")), .why = str_copy("base")};
        box_add_mount(&rig.box, &proc);
        assert_false(add("data", NULL, false));
        expect_error(EXIT_SETUP, "would hide the sandbox's own");
        rig.box.mounts[0].kind = MOUNT_DEV;
        assert_false(add("data", NULL, false));
        expect_error(EXIT_SETUP, "would hide the sandbox's own");
        rig.box.mounts[0].kind = MOUNT_MEMORY;
        assert_true(add("data", NULL, false));
        assert_int_equal(rig.box.mount_count, 1);
        static const char *const places[] = {"/usr", "/usr/bin", "/usr/lib", "/usr/lib64", "/proc", "/dev"};
        for (size_t i = 0; i < COUNT(places); i++) {
                assert_false(add("data", places[i], false));
                expect_error(EXIT_SETUP, "would hide the sandbox's own");
        }
        assert_true(add("data", "/usr/local", false));
}

static void test_two_grants_with_one_destination(void **state)
{
        (void)state;
        make_directory("real");
        make_directory("other");
        assert_true(add("real", "/x", false));
        assert_true(add("real", "/x", false));
        assert_int_equal(rig.box.mount_count, 1);
        assert_false(add("real", "/x", true));
        expect_error(EXIT_USAGE, "two grants have the same destination /x");
        assert_false(add("other", "/x", false));
        expect_error(EXIT_USAGE, "two grants have the same destination /x");
        assert_false(grants_add_overlay(&rig.resolver, at("real"), "/x"));
        expect_error(EXIT_USAGE, "two grants have the same destination /x");
        assert_false(grants_add_memory(&rig.resolver, "/x", 0, "--tmpfs"));
        expect_error(EXIT_USAGE, "two grants have the same destination /x");
        box_free(&rig.box);
        assert_true(grants_add_overlay(&rig.resolver, at("real"), "/x"));
        assert_true(grants_add_overlay(&rig.resolver, at("real"), "/x"));
        assert_false(add("real", "/x", false));
        expect_error(EXIT_USAGE, "two grants have the same destination /x");
}

static void test_an_overlay_is_of_a_directory(void **state)
{
        (void)state;
        make_file("file", "");
        make_directory("directory");
        assert_false(grants_add_overlay(&rig.resolver, at("file"), NULL));
        expect_error(EXIT_SETUP, "it is not a directory");
        assert_true(grants_add_overlay(&rig.resolver, at("directory"), NULL));
        assert_true(mount_at("directory")->kind == MOUNT_OVERLAY);
        assert_false(mount_at("directory")->writable);
        assert_false(grants_add_overlay(&rig.resolver, at("none"), NULL));
        expect_error(EXIT_SETUP, "No such file");
}

static void test_memory(void **state)
{
        (void)state;
        mounts_add_link(&rig.box, "/bin", "usr/bin", REASON_BASE);
        assert_true(grants_add_memory(&rig.resolver, "/bin/x", 4096, "--tmpfs"));
        const struct mount *memory = mounts_find_exact(&rig.box, "/usr/bin/x");
        assert_non_null(memory);
        assert_true(memory->kind == MOUNT_MEMORY && memory->bytes == 4096);
        assert_false(grants_add_memory(&rig.resolver, "/", 0, "--tmpfs"));
        expect_error(EXIT_SETUP, "would hide the sandbox's own /");
        assert_false(grants_add_memory(&rig.resolver, "/proc", 0, "--tmpfs"));
        expect_error(EXIT_SETUP, "would hide the sandbox's own /proc");
        /* In place of the base's own. */
        assert_true(grants_add_memory(&rig.resolver, "/usr/bin/x", 8192, "--tmpfs"));
        assert_int_equal(mounts_find_exact(&rig.box, "/usr/bin/x")->bytes, 8192);
        assert_int_equal(rig.box.mount_count, 2);
}

static void test_a_link_of_an_earlier_run(void **state)
{
        (void)state;
        make_directory("rw/inner");
        make_directory("elsewhere");
        make_link("rw/out", "../elsewhere");
        make_link("rw/in", "inner");
        assert_true(add("rw/in", NULL, false));
        assert_true(add("rw", NULL, true));
        assert_true(grants_check_links(&rig.resolver));
        assert_true(add("rw/out", NULL, false));
        assert_false(grants_check_links(&rig.resolver));
        expect_error(EXIT_SETUP, "the server may have put it there");
}

static bool add_program(const char *relative)
{
        return grants_add_program(&rig.resolver, at(relative),
                                  (struct mount_reason){ORIGIN_COMMAND, "program of the command"});
}

static void test_what_the_command_needs(void **state)
{
        (void)state;
        make_file("tools/node", "");
        make_file("rw/own", "");
        make_file("home/.ssh/tool", "");
        make_link("current", "tools/node");
        make_link("rw/link", "own");
        assert_true(add_program("current"));
        assert_true(mount_at("current")->kind == MOUNT_LINK);
        assert_false(mount_at("tools/node")->writable);
        assert_true(add_program("tools/node"));
        assert_int_equal(rig.box.mount_count, 2);
        box_free(&rig.box);
        grant("rw", NULL, true, "--rw");
        assert_true(add_program("rw/link"));
        assert_true(mount_at("rw")->writable);
        assert_false(has_mount("rw/own"));
        assert_false(add_program("home/.ssh/tool"));
        expect_error(EXIT_SETUP, "it holds keys; move the program elsewhere");
        assert_false(add_program("none"));
        expect_error(EXIT_SETUP, "which the command needs: No such file");
}

static void test_a_file_to_copy_is_judged_and_held(void **state)
{
        (void)state;
        make_file("file", "content");
        make_file("home/.ssh/id", "");
        make_link("link", "file");
        const struct walked *file = grants_judge_file(&rig.resolver, at("link"), "--file");
        assert_non_null(file);
        assert_string_equal(file->real, at("file"));
        assert_int_equal(file->status.st_size, 7);
        assert_true(file->descriptor >= 0);
        assert_int_equal(rig.held.links.count, 1);
        assert_int_equal(rig.box.mount_count, 0);
        assert_null(grants_judge_file(&rig.resolver, at("home/.ssh/id"), "--file"));
        expect_error(EXIT_SETUP, "it holds keys");
        assert_null(grants_judge_file(&rig.resolver, at("none"), "--file"));
        expect_error(EXIT_SETUP, "No such file or directory: check the path after --file");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            rig_test(test_another_path_of_the_host_is_judged_too), /* first: the mounts are read once */
            rig_test(test_a_grant_by_a_link_is_shown_at_both_paths),
            rig_test(test_a_destination_follows_the_links_of_the_box),
            rig_test(test_what_does_not_exist),
            rig_test(test_what_voids_the_sandbox_is_refused),
            rig_test(test_unsafe_grant_permits_exactly_its_path),
            rig_test(test_what_the_sandbox_needs_stays),
            rig_test(test_two_grants_with_one_destination),
            rig_test(test_an_overlay_is_of_a_directory),
            rig_test(test_memory),
            rig_test(test_a_link_of_an_earlier_run),
            rig_test(test_what_the_command_needs),
            rig_test(test_a_file_to_copy_is_judged_and_held),
        };
        return cmocka_run_group_tests(tests, rig_begin, rig_end);
}
