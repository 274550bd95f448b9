/* SPDX-License-Identifier: Apache-2.0
 *
 * What stays read-only inside writable grants, what is watched instead, and which directories are pinned.
 */
#include "grants/hide.h"
#include "grants/mounts.h"
#include "grants/protect.h"
#include "grants/watched_names.h"
#include "grants_rig.h"
#include "lib/fd.h"

#include <stdio.h>
#include <sys/stat.h>

static int begin_test(void **state)
{
        return rig_set_up(state);
}

static int end_test(void **state)
{
        str_list_free(&rig.options.protect);
        return rig_tear_down(state);
}

#define protect_test(test) cmocka_unit_test_setup_teardown(test, begin_test, end_test)

static bool protect(void)
{
        return protect_add(&rig.resolver);
}

static void expect_protected(const char *relative)
{
        const struct mount *mount = mount_at(relative);
        if (mount->kind != MOUNT_BIND || mount->writable)
                fail_msg("%s is writable", relative);
}

static void expect_pinned(const char *relative, const char *below)
{
        const struct mount *mount = mount_at(relative);
        autofree char *why = str_format("holds %s", below[0] == '/' ? below : at(below));
        if (mount->kind != MOUNT_BIND || !mount->writable || !str_equal(mount->why, why))
                fail_msg("%s is not pinned: %s", relative, mount->why);
}

static bool is_watched(const char *name)
{
        return watched_names_may_concern(&rig.held, name);
}

static void test_default_names(void **state)
{
        (void)state;
        make_file("w/.envrc", "");
        make_directory("w/.git/hooks");
        make_file("w/.git/config", "");
        make_file("w/other", "");
        make_file("w/sub/.envrc", "");
        grant("w", NULL, true, "--rw");
        assert_true(protect());
        expect_protected("w/.envrc");
        expect_protected("w/.git/hooks");
        expect_protected("w/.git/config");
        assert_string_equal(mount_at("w/.envrc")->why, "protected");
        assert_false(has_mount("w/other") || has_mount("w/sub") || has_mount("w/sub/.envrc"));
        assert_true(is_watched(".mcp.json") && is_watched("commondir"));
        assert_false(is_watched(".envrc"));
        assert_int_equal(rig.held.watched_count, 1);
        /* Nothing was created for the missing ones. */
        assert_int_equal(access(at("w/.mcp.json"), F_OK), -1);
        assert_false(has_mount("w/.mcp.json"));
        assert_true(mount_at("w")->writable);
}

static void test_the_directories_above_are_pinned(void **state)
{
        (void)state;
        make_directory("w/.git/hooks");
        make_directory("w/a/b/c");
        make_directory("data/sub");
        make_file("w/x/y/secret", "");
        grant("w", NULL, true, "--rw");
        grant("w/a/b/c", NULL, false, "--ro");
        grant("data/sub", "/elsewhere/sub", false, "--ro");
        mounts_add_link(&rig.box, at("w/l/m/link"), "x", REASON_BASE);
        hide_object(&rig.box, at("w/x/y/secret"), false, REASON_OPTION("--hide secret"));
        const struct mount memory = {
            .kind = MOUNT_MEMORY, .destination = str_copy("/"), .why = str_copy("x")};
        box_add_mount(&rig.box, &memory);
        assert_true(protect());
        expect_pinned("w/.git", "w/.git/hooks");
        expect_pinned("w/a", "w/a/b/c");
        expect_pinned("w/a/b", "w/a/b/c");
        expect_pinned("w/x", "w/x/y/secret");
        expect_pinned("w/x/y", "w/x/y/secret");
        assert_null(mounts_find_exact(&rig.box, "/elsewhere"));
        assert_false(has_mount("w/l"));
        /* A mount point that does not exist yet in a grant: the way there as far as it does. */
        box_free(&rig.box);
        watched_names_release(&rig.held);
        grant("w", NULL, true, "--rw");
        grant("data/sub", at("w/a/new/sub"), false, "--ro");
        assert_true(protect());
        expect_pinned("w/a", "w/a/new/sub");
        assert_false(has_mount("w/a/new"));
}

static void test_pins_at_another_destination(void **state)
{
        (void)state;
        make_file("w/a/.keep", "");
        make_directory("w/a/b");
        grant("w", "/inside", true, "--rw");
        grant("w/a/b", "/inside/a/b", false, "--ro");
        assert_true(protect());
        const struct mount *pin = mounts_find_exact(&rig.box, "/inside/a");
        assert_non_null(pin);
        assert_string_equal(pin->source, at("w/a"));
        assert_true(pin->writable);
}

static void test_no_writable_directory_no_pins(void **state)
{
        (void)state;
        make_directory("w/a/b");
        make_file("file", "");
        grant("w", NULL, false, "--ro");
        grant("w/a/b", NULL, false, "--ro");
        grant("file", NULL, true, "--rw");
        grant("home", NULL, true, "--persist");
        make_file("home/.envrc", "");
        assert_true(protect());
        assert_int_equal(rig.box.mount_count, 4);
        assert_int_equal(rig.held.watched_count, 0);
}

static void test_no_protect_still_pins(void **state)
{
        (void)state;
        make_file("w/.envrc", "");
        make_directory("w/a/b");
        rig.options.no_protect = true;
        grant("w", NULL, true, "--rw");
        grant("w/a/b", NULL, false, "--ro");
        assert_true(protect());
        assert_false(has_mount("w/.envrc"));
        assert_false(is_watched(".mcp.json"));
        expect_pinned("w/a", "w/a/b");
}

static void test_the_users_own_mounts_decide(void **state)
{
        (void)state;
        make_directory("w/.git/hooks");
        make_file("w/.git/config", "");
        make_file("w/.envrc", "");
        make_file("w/.mcp.json", "");
        make_directory("other");
        grant("w", NULL, true, "--rw");
        grant("w/.git/hooks", NULL, true, "--rw");
        grant("other", at("w/.envrc"), true, "--rw");
        hide_object(&rig.box, at("w/.mcp.json"), false, REASON_OPTION("--hide .mcp.json"));
        assert_true(protect());
        assert_true(mount_at("w/.git/hooks")->writable);
        assert_string_equal(mount_at("w/.git/hooks")->why, "--rw");
        expect_protected("w/.git/config");
        assert_string_equal(mount_at("w/.envrc")->source, at("other"));
        assert_true(mount_at("w/.mcp.json")->kind == MOUNT_MASK);
        /* Another grant of the same directory covers it at another path. */
        unsigned protected = 0;
        for (size_t i = 0; i < rig.box.mount_count; i++)
        protected += str_equal(rig.box.mounts[i].why, "protected");
        assert_int_equal(protected, 1);
}

static void test_two_grants_of_one_directory(void **state)
{
        (void)state;
        make_file("w/.envrc", "");
        grant("w", "/one", true, "--rw");
        grant("w", "/two", true, "--rw");
        assert_true(protect());
        assert_false(mounts_find_exact(&rig.box, "/one/.envrc")->writable);
        assert_false(mounts_find_exact(&rig.box, "/two/.envrc")->writable);
}

static void test_a_granted_repository(void **state)
{
        (void)state;
        make_directory("w/.git/hooks");
        make_file("w/.git/.git/hooks/x", "");
        grant("w/.git", NULL, true, "--rw");
        assert_true(protect());
        expect_protected("w/.git/hooks");
        assert_false(has_mount("w/.git/.git/hooks"));
        assert_true(is_watched("commondir"));
}

static void test_what_git_obeys_deeper(void **state)
{
        (void)state;
        make_directory("w/sub/.git/objects");
        make_file("w/sub/.git/HEAD", "");
        make_file("w/sub/.git/config", "[core]\n\thooksPath = scripts\n");
        make_file("w/sub/scripts/pre-commit", "");
        grant("w", NULL, true, "--rw");
        assert_true(protect());
        expect_protected("w/sub/.git/config");
        expect_protected("w/sub/scripts");
        expect_pinned("w/sub", "w/sub/.git/config");
        assert_true(is_watched("commondir"));
}

static void test_a_link_is_watched_and_its_target_protected(void **state)
{
        (void)state;
        make_file("w/real", "");
        make_link("w/second", "real");
        make_link("w/.envrc", "second");
        make_link("w/.mcp.json", "missing");
        make_link("w/.zshrc", "../outside");
        make_link("w/.gemini", ".gemini");
        make_file("outside", "");
        grant("w", NULL, true, "--rw");
        assert_true(protect());
        expect_protected("w/real");
        assert_false(has_mount("w/.envrc") || has_mount("w/second") || has_mount("outside"));
        assert_true(is_watched(".envrc") && is_watched("second") && is_watched("missing"));
        assert_true(is_watched(".zshrc"));
        assert_false(is_watched("real"));
        make_file("w/missing", "");
        watched_names_report(&rig.held);
        assert_true(was_said("/w/missing was created during the run"));
}

static void test_a_link_on_the_way(void **state)
{
        (void)state;
        make_directory("w/store/hooks");
        make_link("w/.git", "store");
        grant("w", NULL, true, "--rw");
        assert_true(protect());
        expect_protected("w/store/hooks");
        assert_true(is_watched(".git"));
        expect_pinned("w/store", "w/store/hooks");
}

static void test_links_in_protected_directories(void **state)
{
        (void)state;
        make_file("w/scripts/check", "");
        make_directory("w/scripts/directory");
        make_directory("w/.git/hooks");
        make_link("w/.git/hooks/pre-commit", "../../scripts/check");
        make_link("w/.git/hooks/all", "../../scripts/directory");
        make_link("w/.git/hooks/later", "../../scripts/later");
        grant("w", NULL, true, "--rw");
        assert_true(protect());
        expect_protected("w/scripts/check");
        assert_false(has_mount("w/scripts/directory"));
        assert_true(is_watched("later"));
}

static void test_other_names_are_a_note(void **state)
{
        (void)state;
        make_file("w/.envrc", "");
        grant("w", NULL, true, "--rw");
        assert_true(protect());
        assert_string_equal(rig.said, "");
        make_file("v/.envrc", "");
        make_directory("v/.git/hooks/sub"); /* directories have several links anyway */
        assert_int_equal(link(at("v/.envrc"), at("v/other")), 0);
        grant("v", NULL, true, "--rw");
        assert_true(protect());
        assert_true(was_said("/v/.envrc has other names, by hard links"));
        assert_false(was_said("hooks has other names"));
}

static void test_asked_for(void **state)
{
        (void)state;
        make_file("w/a/key", "");
        make_directory("w/a/dir");
        str_list_add(&rig.options.protect, "w/a/key");
        str_list_add(&rig.options.protect, at("w/a/dir"));
        rig.options.no_protect = true;
        grant("w", NULL, true, "--rw");
        grant("w/a/dir", "/mnt", true, "--rw");
        grant("w", "/inside", true, "--rw");
        assert_true(protect());
        expect_protected("w/a/key");
        assert_string_equal(mount_at("w/a/key")->why, "--protect");
        expect_protected("w/a/dir");
        expect_pinned("w/a", "w/a/key");
        assert_false(mounts_find_exact(&rig.box, "/mnt")->writable);
        assert_false(mounts_find_exact(&rig.box, "/inside/a/key")->writable);
        assert_true(mount_at("w")->writable);
        assert_string_equal(rig.said, "");
        /* What is read-only by now needs no mount for a default name. */
        box_free(&rig.box);
        watched_names_release(&rig.held);
        rig.options.no_protect = false;
        make_file("w/a/dir/.envrc", "");
        grant("w", NULL, true, "--rw");
        grant("w/a/dir", "/mnt", true, "--rw");
        assert_true(protect());
        assert_false(mounts_find_exact(&rig.box, "/mnt")->writable);
        assert_null(mounts_find_exact(&rig.box, "/mnt/.envrc"));
}

static bool protects_alias(void)
{
        grant("w", NULL, true, "--rw");
        str_list_add(&rig.options.protect, "data/key");
        return protect() && has_mount("w/alias/key") && !mount_at("w/alias/key")->writable;
}

static void test_asked_for_at_another_path_of_the_host(void **state)
{
        (void)state;
        make_file("data/key", "");
        make_directory("w/alias");
        with_alias("data", "w/alias", protects_alias);
}

static void test_asked_for_what_cannot_be(void **state)
{
        (void)state;
        static const struct {
                const char *path, *part;
        } cases[] = {{"w/none", "No such file"},
                     {"none/none", "No such file"},
                     {"/", "it is the root"},
                     {"ro/file", "it is in no writable grant"},
                     {"file", "it is in no writable grant"},
                     {"w", "it is in no writable grant"}};
        make_file("ro/file", "");
        make_file("file", "");
        make_directory("w");
        grant("w", NULL, true, "--rw");
        grant("ro", NULL, false, "--ro");
        for (size_t i = 0; i < COUNT(cases); i++) {
                str_list_free(&rig.options.protect);
                str_list_add(&rig.options.protect, cases[i].path);
                assert_false(protect());
                expect_error(EXIT_USAGE, cases[i].part);
        }
}

static void test_asked_for_a_link(void **state)
{
        (void)state;
        make_file("w/real", "");
        make_file("outside", "");
        make_link("w/in", "real");
        make_link("w/out", "../outside");
        make_link("to-grant", "w/real");
        grant("w", NULL, true, "--rw");
        str_list_add(&rig.options.protect, "w/in");
        assert_true(protect());
        expect_protected("w/real");
        assert_true(is_watched("in"));
        assert_false(was_said("it is a link"));
        str_list_free(&rig.options.protect);
        str_list_add(&rig.options.protect, "to-grant");
        assert_true(protect());
        assert_false(was_said("it is a link"));
        str_list_free(&rig.options.protect);
        make_link("w/dangling", "later");
        str_list_add(&rig.options.protect, "w/dangling");
        assert_true(protect());
        assert_true(is_watched("dangling") && is_watched("later"));
        str_list_free(&rig.options.protect);
        str_list_add(&rig.options.protect, "w/out");
        assert_true(protect());
        assert_true(was_said("it is a link to"));
        assert_true(is_watched("out"));
        assert_false(has_mount("outside"));
}

static void test_names_that_a_copied_file_may_not_have(void **state)
{
        (void)state;
        make_directory("w/sub");
        make_directory("ro");
        make_directory("git/.git");
        grant("w", NULL, true, "--rw");
        grant("ro", NULL, false, "--ro");
        grant("git/.git", NULL, true, "--rw");
        grant("w/sub", at("w/pinned"), true, "holds x");
        grant("w/sub", at("w/narrow"), false, "--ro");
        static const struct {
                const char *path;
                bool is_protected;
        } cases[] = {{"w/.envrc", true},        {"w/.git", true},           {"w/.git/hooks", true},
                     {"w/.git/hooks/x", true},  {"w/.git/other", false},    {"w/sub/.envrc", false},
                     {"w/.envrcs", false},      {"ro/.envrc", false},       {"git/.git/hooks/x", true},
                     {"git/.git/index", false}, {"w/pinned/.envrc", false}, {"outside/.envrc", false}};
        for (size_t i = 0; i < COUNT(cases); i++)
                if (protect_names(&rig.box, at(cases[i].path)) != cases[i].is_protected)
                        fail_msg("%s", cases[i].path);
        /* The deepest of the user's writable grants has the names. */
        grant("w/sub", NULL, true, "--rw");
        assert_true(protect_names(&rig.box, at("w/sub/.envrc")));
        mounts_sort(&rig.box);
        assert_true(protect_names(&rig.box, at("w/sub/.envrc")));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            protect_test(test_default_names),
            protect_test(test_the_directories_above_are_pinned),
            protect_test(test_pins_at_another_destination),
            protect_test(test_no_writable_directory_no_pins),
            protect_test(test_no_protect_still_pins),
            protect_test(test_the_users_own_mounts_decide),
            protect_test(test_two_grants_of_one_directory),
            protect_test(test_a_granted_repository),
            protect_test(test_what_git_obeys_deeper),
            protect_test(test_a_link_is_watched_and_its_target_protected),
            protect_test(test_a_link_on_the_way),
            protect_test(test_links_in_protected_directories),
            protect_test(test_other_names_are_a_note),
            protect_test(test_asked_for),
            protect_test(test_asked_for_at_another_path_of_the_host),
            protect_test(test_asked_for_what_cannot_be),
            protect_test(test_asked_for_a_link),
            protect_test(test_names_that_a_copied_file_may_not_have),
        };
        return cmocka_run_group_tests(tests, rig_begin, rig_end);
}
