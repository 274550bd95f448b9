/* SPDX-License-Identifier: Apache-2.0
 *
 * --overlay, --protect, --no-protect and --hide on the command line, and masks at every place of a box that
 * shows what is hidden.
 */
#include "grants/hide.h"
#include "grants/mounts.h"
#include "lib/fd.h"
#include "options/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define PARSE(options, error, ...)                                                                           \
        options_parse((options), "mcp", (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)),       \
                      (char *[]){__VA_ARGS__}, (error))

static void test_taken(void **state)
{
        (void)state;
        struct options options;
        struct error error = {0};
        assert_int_equal(setenv("HOME", "/home/someone", 1), 0);
        assert_true(PARSE(&options, &error, "--overlay", "~/a", "--overlay=/nowhere:/b", "--protect", "~/k",
                          "--protect=l", "--no-protect", "--hide", "~/.env*", "--hide", ".e?v", "--", "x"));
        assert_int_equal(options.grant_count, 2);
        assert_string_equal(options.grants[0].path, "/home/someone/a");
        assert_true(options.grants[0].overlay);
        assert_false(options.grants[0].writable);
        assert_string_equal(options.grants[1].destination, "/b");
        assert_int_equal(options.protect.count, 2);
        assert_string_equal(options.protect.values[0], "/home/someone/k");
        assert_string_equal(options.protect.values[1], "l");
        assert_true(options.no_protect);
        assert_int_equal(options.hide.count, 2);
        assert_string_equal(options.hide.values[0], "/home/someone/.env*");
        assert_string_equal(options.hide.values[1], ".e?v");
        options_free(&options);
}

static void test_nothing_by_default(void **state)
{
        (void)state;
        struct options options;
        struct error error = {0};
        assert_true(PARSE(&options, &error, "--rw", "/a", "--", "x"));
        assert_false(options.grants[0].overlay);
        assert_int_equal(options.protect.count + options.hide.count, 0);
        assert_false(options.no_protect);
        options_free(&options);
}

static void assert_refused(struct options *options, bool parsed, struct error *error, const char *sentence)
{
        assert_false(parsed);
        assert_int_equal(error->status, EXIT_USAGE);
        assert_non_null(strstr(error->text, sentence));
        options_free(options);
        *error = (struct error){0};
}

static void test_refused(void **state)
{
        (void)state;
        struct options options;
        struct error error = {0};
        assert_refused(&options, PARSE(&options, &error, "--hide", "a/**/b", "--", "x"), &error, "**");
        assert_refused(&options, PARSE(&options, &error, "--hide=", "--", "x"), &error, "empty value");
        assert_refused(&options, PARSE(&options, &error, "--protect", "--", "x"), &error, "needs a value");
        assert_refused(&options, PARSE(&options, &error, "--no-protect=1", "--", "x"), &error,
                       "takes no value");
        assert_refused(&options, PARSE(&options, &error, "--overlay", "/a", "--ro", "/a", "--", "x"), &error,
                       "both --overlay and --ro");
        assert_refused(&options, PARSE(&options, &error, "--overlay", "/a:/", "--", "x"), &error, "root");
}

static void add_bind(struct box *box, const char *source, const char *destination)
{
        struct mount mount = {.kind = MOUNT_BIND,
                              .source = str_copy(source),
                              .destination = str_copy(destination),
                              .is_directory = true,
                              .origin = ORIGIN_OPTION,
                              .why = str_copy("--ro")};
        box_add_mount(box, &mount);
}

static bool is_masked(const struct box *box, const char *path)
{
        const struct mount *mount = box_find_mount(box, path);
        return mount && mount->kind == MOUNT_MASK;
}

static void test_every_place_that_shows_it(void **state)
{
        (void)state;
        struct box box = {0};
        add_bind(&box, "/p", "/p");
        add_bind(&box, "/p/sub", "/inside");
        add_bind(&box, "/pp", "/pp");
        add_bind(&box, "/other", "/p/sub/covered");
        hide_object(&box, "/p/sub/key", false, REASON_OPTION("--hide key"));
        hide_object(&box, "/p/sub/covered", false, REASON_OPTION("--hide covered"));
        assert_true(is_masked(&box, "/p/sub/key"));
        assert_true(is_masked(&box, "/inside/key"));
        assert_false(is_masked(&box, "/p/sub/covered"));
        assert_true(is_masked(&box, "/inside/covered"));
        assert_int_equal(box.mount_count, 4 + 3);
        /* Once only, and not beside it. */
        hide_object(&box, "/p/sub/key", false, REASON_OPTION("--hide key"));
        hide_object(&box, "/elsewhere", true, REASON_OPTION("--hide /elsewhere"));
        assert_int_equal(box.mount_count, 4 + 3);
        /* What has a place of its own below stays. */
        hide_object(&box, "/p/sub", true, REASON_OPTION("--hide sub"));
        assert_true(is_masked(&box, "/p/sub/more"));
        assert_true(is_masked(&box, "/inside"));
        assert_false(is_masked(&box, "/p/sub/covered"));
        box_free(&box);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_taken),
            cmocka_unit_test(test_nothing_by_default),
            cmocka_unit_test(test_refused),
            cmocka_unit_test(test_every_place_that_shows_it),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
