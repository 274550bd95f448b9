/* SPDX-License-Identifier: Apache-2.0
 *
 * --hide: which paths, names and patterns put a mask where, and what is an error because it could not hold.
 */
#include "grants/hide.h"
#include "grants/mounts.h"
#include "grants_rig.h"
#include "lib/fd.h"

#include <sys/stat.h>

static bool hide(const char *first, const char *second)
{
        struct str_list *patterns = &rig.options.hide;
        if (first)
                str_list_add(patterns, first);
        if (second)
                str_list_add(patterns, second);
        bool done = hide_add(&rig.resolver);
        str_list_free(patterns);
        return done;
}

static bool is_hidden(const char *path)
{
        const struct mount *mount = mounts_find_exact(&rig.box, path[0] == '/' ? path : at(path));
        return mount && mount->kind == MOUNT_MASK;
}

/* How many masks the box has. */
static unsigned masks(void)
{
        unsigned count = 0;
        for (size_t i = 0; i < rig.box.mount_count; i++)
                count += rig.box.mounts[i].kind == MOUNT_MASK;
        return count;
}

static void test_an_object_is_masked_wherever_a_mount_shows_it(void **state)
{
        (void)state;
        make_file("w/secret", "");
        grant("w", NULL, true, "--rw");
        grant("w", "/second", false, "--ro");
        grant("w", "/overlay", false, "--overlay")->kind = MOUNT_OVERLAY;
        grant("home", at("w/secret/x"), false, "--ro");
        mounts_add_link(&rig.box, "/link", at("w"), REASON_BASE);
        hide_object(&rig.box, at("w/secret"), false, REASON_OPTION("--hide x"));
        hide_object(&rig.box, at("w/secret"), false, REASON_OPTION("--hide y"));
        hide_object(&rig.box, at("elsewhere"), true, REASON_OPTION("--hide z"));
        assert_int_equal(masks(), 3);
        assert_true(is_hidden("w/secret") && is_hidden("/second/secret") && is_hidden("/overlay/secret"));
        assert_string_equal(mount_at("w/secret")->why, "--hide x");
        assert_false(mount_at("w/secret")->is_directory);
        /* A closer mount shows another object there. */
        make_directory("w/sub");
        grant("home", at("w/sub"), false, "--ro");
        hide_object(&rig.box, at("w/sub"), true, REASON_OPTION("--hide sub"));
        assert_true(mount_at("w/sub")->kind == MOUNT_BIND);
        assert_true(mounts_find_exact(&rig.box, "/second/sub")->is_directory);
}

static void test_names_at_any_depth(void **state)
{
        (void)state;
        make_file("w/.env", "");
        make_file("w/a/b/.env", "");
        make_file("w/a/.envrc", "");
        make_file("w/a/key.pem", "");
        make_file("w/dir.pem/inside.pem", "");
        make_file("outside/.env", "");
        grant("w", NULL, true, "--rw");
        assert_true(hide(".env", "*.pem"));
        assert_true(is_hidden("w/.env") && is_hidden("w/a/b/.env") && is_hidden("w/a/key.pem"));
        assert_true(is_hidden("w/dir.pem") && mount_at("w/dir.pem")->is_directory);
        assert_int_equal(masks(), 4);
        assert_string_equal(mount_at("w/a/b/.env")->why, "--hide .env");
        assert_string_equal(rig.said, "");
}

static void test_paths(void **state)
{
        (void)state;
        make_file("w/a/key", "");
        make_file("w/b/key", "");
        make_directory("w/[id]");
        make_link("way", "w");
        grant("w", NULL, true, "--rw");
        assert_true(hide("w/a/key", "way/[id]/"));
        assert_true(is_hidden("w/a/key") && is_hidden("w/[id]"));
        assert_int_equal(masks(), 2);
        /* A name of the working directory is a path and a name. */
        box_free(&rig.box);
        make_file("key", "");
        grant("w", NULL, true, "--rw");
        assert_true(hide("key", NULL));
        assert_true(is_hidden("w/a/key") && is_hidden("w/b/key"));
        assert_int_equal(masks(), 2);
        box_free(&rig.box);
        grant("w", NULL, true, "--rw");
        assert_true(hide(".", ".."));
        assert_int_equal(masks(), 0);
        assert_true(hide(NULL, NULL));
        make_directory("w/c/sub");
        assert_true(hide("sub/", NULL)); /* still a name */
        assert_true(is_hidden("w/c/sub"));
}

static void test_patterns_of_whole_paths(void **state)
{
        (void)state;
        make_file("w/a/key", "");
        make_file("w/a/deep/key", "");
        make_file("w/b/other", "");
        make_link("way", "w");
        grant("w", NULL, true, "--rw");
        assert_true(hide("way/*/key", NULL));
        assert_true(is_hidden("w/a/key"));
        assert_int_equal(masks(), 1);
        assert_true(hide("w/none-*", "none/*")); /* a pattern need not match */
        assert_string_equal(rig.said, "");
        box_free(&rig.box);
        grant("w", NULL, true, "--rw");
        autofree char *absolute = str_format("%s/b/[no]ther", at("w"));
        assert_true(hide(absolute, "/*"));
        assert_true(is_hidden("w/b/other"));
        assert_int_equal(masks(), 1);
}

static void test_a_path_that_does_not_exist(void **state)
{
        (void)state;
        make_directory("w");
        make_directory("ro");
        make_file("w/file", "");
        grant("w", NULL, true, "--rw");
        grant("ro", NULL, false, "--ro");
        assert_false(hide("w/none", NULL));
        expect_error(EXIT_USAGE, "there is no such file");
        assert_false(hide("w/file/x", NULL));
        expect_error(EXIT_USAGE, "there is no such file");
        assert_string_equal(rig.said, "");
        assert_true(hide("ro/none", NULL));
        assert_true(was_said("--hide ro/none hides nothing"));
        /* A name that is nowhere is looked for in the working directory. */
        rig.said[0] = 0;
        assert_true(hide("nowhere", NULL));
        assert_true(was_said("--hide nowhere hides nothing"));
        grant("", NULL, true, "--rw");
        assert_false(hide("nowhere", NULL));
        expect_error(EXIT_USAGE, "there is no such file");
        make_link("loop", "loop/x");
        assert_false(hide("loop/y", NULL));
        expect_error(EXIT_SETUP, "hutch cannot hide it");
}

static void test_hard_links_are_a_note(void **state)
{
        (void)state;
        make_file("w/key", "");
        make_directory("w/dir/sub");
        grant("w", NULL, true, "--rw");
        assert_true(hide("w/key", "dir"));
        assert_string_equal(rig.said, "");
        assert_int_equal(link(at("w/key"), at("w/other")), 0);
        assert_true(hide("other", NULL));
        assert_true(was_said("has other names, by hard links, which stay visible"));
}

static void test_what_a_matching_link_leads_to(void **state)
{
        (void)state;
        make_file("w/real", "");
        make_file("base/tool", "");
        make_link("w/link.pem", "real");
        make_link("w/tool.pem", "../base/tool");
        make_link("w/dangling.pem", "none");
        grant("w", NULL, true, "--rw");
        grant("base", NULL, false, "base");
        assert_true(hide("*.pem", NULL));
        assert_true(is_hidden("w/real"));
        assert_int_equal(masks(), 1);
}

static void test_a_grant_in_a_hidden_directory(void **state)
{
        (void)state;
        make_file("w/dir/sub/key", "");
        make_file("w/dir/key", "");
        grant("w", NULL, true, "--rw");
        grant("w/dir/sub", NULL, false, "--ro");
        assert_true(hide("dir", "key"));
        assert_true(is_hidden("w/dir") && is_hidden("w/dir/sub/key"));
        /* Without it, nothing below the mask needs another. */
        box_free(&rig.box);
        grant("w", NULL, true, "--rw");
        assert_true(hide("dir", "key"));
        assert_int_equal(masks(), 1);
}

static void test_only_grants_are_searched(void **state)
{
        (void)state;
        make_file("base/key", "");
        make_file("over/key", "");
        make_file("file", "");
        grant("base", NULL, false, "base");
        grant("over", NULL, false, "--overlay")->kind = MOUNT_OVERLAY;
        grant("file", NULL, false, "--ro");
        assert_true(hide("*", NULL));
        assert_int_equal(masks(), 1);
        assert_true(is_hidden("over/key"));
}

/* The search sees the directory that was judged, whatever has its name by now. Entering refuses that name. */
static void test_a_grant_that_was_replaced(void **state)
{
        (void)state;
        make_file("w/key.pem", "");
        grant("w", NULL, true, "--rw");
        assert_int_equal(rename(at("w"), at("v")), 0);
        make_file("w/other.pem", "");
        assert_true(hide("*.pem", NULL));
        assert_int_equal(masks(), 1);
        assert_true(is_hidden("w/key.pem"));
}

/* Two grants of one tree are searched once: the bound on entries is on all of them. */
static void test_nested_grants_and_the_bound(void **state)
{
        (void)state;
        make_file("w/a/key", "");
        grant("w", NULL, true, "--rw");
        grant("w", "/again", true, "--rw");
        grant("w/a", "/a", false, "--ro");
        make_directory("w2");
        make_file("w2/key", "");
        grant("w2", NULL, false, "--ro");
        assert_true(hide("key", NULL));
        assert_true(is_hidden("w/a/key") && is_hidden("/again/a/key") && is_hidden("/a/key"));
        assert_true(is_hidden("w2/key"));
        assert_int_equal(masks(), 4);
}

static void test_too_many_masks(void **state)
{
        (void)state;
        make_file("w/1", "");
        grant("w", NULL, true, "--rw");
        for (unsigned i = 0; i < 4095; i++) {
                const struct mount mask = {.kind = MOUNT_MASK,
                                           .destination = str_copy("/x"),
                                           .origin = ORIGIN_OPTION,
                                           .why = str_copy("--hide x")};
                box_add_mount(&rig.box, &mask);
        }
        assert_true(hide("[0-9]", NULL));
        assert_true(is_hidden("w/1"));
        make_file("w/2", "");
        assert_false(hide("[2-9]", NULL));
        expect_error(EXIT_SETUP, "matches too much: hutch hides at most 4096 paths");
}

static void test_a_directory_that_cannot_be_opened(void **state)
{
        (void)state;
        drop_root();
        make_file("w/closed/key", "");
        grant("w", NULL, true, "--rw");
        assert_int_equal(chmod(at("w/closed"), 0), 0);
        assert_false(hide("key", NULL)); /* the command can open it up */
        expect_error(EXIT_SETUP, "cannot search");
        rig.box.mounts[0].writable = false;
        assert_true(hide("key*", NULL));
        assert_int_equal(masks(), 0);
        rig.box.mounts[0].kind = MOUNT_OVERLAY;
        rig.box.mounts[0].origin = ORIGIN_OPTION;
        assert_false(hide("key", NULL));
        expect_error(EXIT_SETUP, "cannot search");
        if (getuid() != 0)
                return; /* another account's stays closed */
        assert_int_equal(seteuid(0), 0);
        assert_int_equal(chown(at("w/closed"), 0, 0), 0);
        assert_int_equal(seteuid(65534), 0);
        assert_true(hide("key*", NULL));
        assert_int_equal(masks(), 0);
}

static bool hides_alias(void)
{
        grant("w", NULL, true, "--rw");
        return hide("data/key", NULL) && is_hidden("w/alias/key") && masks() == 1;
}

static void test_another_path_of_the_host_is_hidden_too(void **state)
{
        (void)state;
        make_file("data/key", "");
        make_directory("w/alias");
        with_alias("data", "w/alias", hides_alias);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            rig_test(test_an_object_is_masked_wherever_a_mount_shows_it),
            rig_test(test_names_at_any_depth),
            rig_test(test_paths),
            rig_test(test_patterns_of_whole_paths),
            rig_test(test_a_path_that_does_not_exist),
            rig_test(test_hard_links_are_a_note),
            rig_test(test_what_a_matching_link_leads_to),
            rig_test(test_a_grant_in_a_hidden_directory),
            rig_test(test_only_grants_are_searched),
            rig_test(test_a_grant_that_was_replaced),
            rig_test(test_nested_grants_and_the_bound),
            rig_test(test_too_many_masks),
            rig_test(test_a_directory_that_cannot_be_opened),
            rig_test(test_another_path_of_the_host_is_hidden_too),
        };
        return cmocka_run_group_tests(tests, rig_begin, rig_end);
}
