/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions about a finished box: which mount shows a path, which mounts are grants, and which helpers it
 * needs.
 */
#include "box/box.h"

#include "origins.h"
#include "unit.h"

static void add(struct box *box, enum mount_kind kind, const char *destination, const char *why)
{
        const struct mount mount = {.kind = kind,
                                    .origin = origin_of(why),
                                    .destination = str_copy(destination),
                                    .why = str_copy(why)};
        box_add_mount(box, &mount);
}

static void test_the_mount_that_shows_a_path(void **state)
{
        (void)state;
        struct box box = {0};
        assert_null(box_find_mount(&box, "/a"));
        add(&box, MOUNT_BIND, "/a/b", "first");
        add(&box, MOUNT_BIND, "/a", "--ro");
        add(&box, MOUNT_BIND, "/a/b", "second");
        static const struct {
                const char *path, *why;
        } cases[] = {
            {"/a", "--ro"}, {"/a/x", "--ro"}, {"/a/b", "second"}, {"/a/b/c/d", "second"}, {"/a/bc", "--ro"}};
        for (size_t i = 0; i < COUNT(cases); i++)
                assert_string_equal(box_find_mount(&box, cases[i].path)->why, cases[i].why);
        assert_null(box_find_mount(&box, "/"));
        assert_null(box_find_mount(&box, "/ab"));
        box_free(&box);
        assert_int_equal(box.mount_count, 0);
}

static void test_which_mounts_are_grants(void **state)
{
        (void)state;
        static const struct {
                enum mount_kind kind;
                const char *why;
                bool is_grant, is_asked_for;
        } cases[] = {
            {MOUNT_BIND, "base", false, false},
            {MOUNT_BIND, "--ro", true, true},
            {MOUNT_BIND, "program of the command", true, false},
            {MOUNT_BIND, "holds /x", true, false},
            {MOUNT_OVERLAY, "--overlay", true, true},
            {MOUNT_OVERLAY, "packages of npx", false, false},
            {MOUNT_MEMORY, "--tmpfs", false, false},
            {MOUNT_MASK, "--hide x", false, false},
            {MOUNT_LINK, "--ro", false, false},
        };
        for (size_t i = 0; i < COUNT(cases); i++) {
                struct mount mount = {
                    .kind = cases[i].kind, .origin = origin_of(cases[i].why), .why = str_copy(cases[i].why)};
                if (mount_is_grant(&mount) != cases[i].is_grant ||
                    mount_is_asked_for(&mount) != cases[i].is_asked_for)
                        fail_msg("case %zu", i);
                mount_free(&mount);
        }
}

static void test_which_helpers_it_needs(void **state)
{
        (void)state;
        struct box box = {.kind = BOX_MCP};
        assert_false(box_has_network(&box) || box_has_filter(&box));
        box.network.publish_count = 1;
        assert_true(box_has_network(&box));
        box.network.publish_count = 0;
        box.network.host_port_count = 1;
        assert_true(box_has_network(&box));
        box.network.host_port_count = 0;
        box.network.rules.allow.count = 1;
        assert_true(box_has_network(&box));
        box.network.rules.allow.count = 0;
        box.network.rules.deny.count = 1; /* nothing is allowed that it could deny */
        assert_false(box_has_network(&box));
        box.log_path = (char[]){"/log"};
        assert_true(box_has_filter(&box));
        box.raw_stdout = true;
        assert_false(box_has_filter(&box));
        box.raw_stdout = false;
        box.kind = BOX_RUN;
        assert_false(box_has_filter(&box));
        box.tools.deny_sampling = true;
        assert_true(box_has_filter(&box));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_the_mount_that_shows_a_path),
            cmocka_unit_test(test_which_mounts_are_grants),
            cmocka_unit_test(test_which_helpers_it_needs),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
