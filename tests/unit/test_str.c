/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths as text, names, lists, environments, and sentences about untrusted text.
 */
#include "lib/environment.h"
#include "lib/err.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "lib/suggest.h"

#include <stdio.h>

#include "unit.h"

static void test_join(void **state)
{
        (void)state;
        static const struct {
                const char *base, *path, *joined;
        } cases[] = {
            {"/a", "b", "/a/b"},
            {"/a", "/b", "/b"},
            {"/a/b", "../c", "/a/c"},
            {"/a", "../../..", "/"},
            {"/a", "./b//c/", "/a/b/c"},
            {"/a", "", "/a"},
            {"/", ".", "/"},
            {"/a", "..b/.c", "/a/..b/.c"},
            {"/a", "/../b/./../c", "/c"},
            {"/a//b/..", "c", "/a/c"},
        };
        for (size_t i = 0; i < COUNT(cases); i++) {
                autofree char *joined = path_join(cases[i].base, cases[i].path);
                assert_string_equal(joined, cases[i].joined);
        }
}

static void test_places(void **state)
{
        (void)state;
        assert_true(path_is_below("/a/b", "/a"));
        assert_true(path_is_below("/a", "/a"));
        assert_true(path_is_below("/a", "/"));
        assert_false(path_is_below("/ab", "/a"));
        assert_false(path_is_below("/a", "/a/b"));
        assert_int_equal(path_depth("/"), 0);
        assert_int_equal(path_depth("/a"), 1);
        assert_int_equal(path_depth("/a/b"), 2);
        assert_string_equal(path_base("/a/b"), "b");
        assert_string_equal(path_base("b"), "b");
        autofree char *parent = path_parent("/a/b"), *root = path_parent("/a");
        assert_string_equal(parent, "/a");
        assert_string_equal(root, "/");
}

static void test_names(void **state)
{
        (void)state;
        char longest[130] = {0};
        memset(longest, 'a', 129);
        assert_false(str_is_file_name(longest));
        longest[128] = 0;
        assert_true(str_is_file_name(longest));
        assert_true(str_is_file_name("a-1.2_@+"));
        static const char *const bad[] = {"", ".", "..", ".a", "-a", "a/b", "a b", "a\n", "é"};
        for (size_t i = 0; i < COUNT(bad); i++)
                assert_false(str_is_file_name(bad[i]));
        assert_true(str_is_variable_name("_a9", 3));
        assert_true(str_is_variable_name("A=", 1));
        static const char *const variables[] = {"", "9a", "a-b", "a=", "é"};
        for (size_t i = 0; i < COUNT(variables); i++)
                assert_false(str_is_variable_name(variables[i], strlen(variables[i])));
        assert_true(str_words_have("one two", "two", 3));
        assert_true(str_words_have("one two", "onerous", 3));
        assert_false(str_words_have("one two", "on", 2));
        assert_false(str_words_have("one two", "one two", 7));
        assert_false(str_words_have("", "one", 3));
}

static void test_suggestions(void **state)
{
        (void)state;
        static const char *const names[] = {"network-allow", "network-deny", "verbose", "version", NULL};
        assert_int_equal(str_distance("kitten", "sitting"), 3);
        assert_int_equal(str_distance("", "abc"), 3);
        assert_int_equal(str_distance("abc", "abc"), 0);
        assert_string_equal(suggest_nearest("netwrk-alow", names), "network-allow");
        assert_string_equal(suggest_nearest("allow-network", names), "network-allow");
        assert_string_equal(suggest_nearest("verb", names), "verbose");
        assert_null(suggest_nearest("filesystem", names));
        assert_null(suggest_nearest("v", names));
}

static void test_lists_and_environments(void **state)
{
        (void)state;
        struct str_list list = {0}, copy = {0};
        for (int i = 0; i < 20; i++) {
                str_list_take(&list, str_format("V%d=%d", i, i));
                assert_null(list.values[list.count]);
        }
        assert_true(str_list_has(&list, "V19=19"));
        assert_false(str_list_has(&list, "V19"));
        environment_set(&list, str_copy("V1=new"));
        environment_set(&list, str_copy("V=one"));
        assert_int_equal(list.count, 21);
        assert_string_equal(environment_find(&list, "V1"), "new");
        assert_string_equal(environment_find(&list, "V10"), "10");
        assert_string_equal(environment_find(&list, "V"), "one");
        assert_null(environment_find(&list, "W"));
        str_list_add_all(&copy, &list);
        assert_int_equal(copy.count, 21);
        str_list_free(&list);
        str_list_free(&copy);
        assert_int_equal(copy.count, 0);
}

/* `text` in a buffer of `size` bytes becomes `quoted`. */
static void expect_quoted(const char *text, size_t size, const char *quoted)
{
        char out[64];
        assert_true(size <= sizeof(out));
        assert_string_equal(error_quote(out, size, text, strlen(text)), quoted);
}

static void test_quoting(void **state)
{
        (void)state;
        expect_quoted("plain é € \xF0\x9F\x98\x80", 64, "plain é € \xF0\x9F\x98\x80");
        expect_quoted("a\n\x1b\x7f", 64, "a\\x0a\\x1b\\x7f");
        /* Not UTF-8: overlong, surrogate, above U+10FFFF, cut off. C1 controls are refused too. */
        expect_quoted("\xC0\xAF", 64, "\\xc0\\xaf");
        expect_quoted("\xE0\x80\xAF", 64, "\\xe0\\x80\\xaf");
        expect_quoted("\xED\xA0\x80", 64, "\\xed\\xa0\\x80");
        expect_quoted("\xF4\x90\x80\x80", 64, "\\xf4\\x90\\x80\\x80");
        expect_quoted("\xF5\x80\x80\x80", 64, "\\xf5\\x80\\x80\\x80");
        expect_quoted("\xE2(\xA1", 64, "\\xe2(\\xa1");
        char cut[64];
        assert_string_equal(error_quote(cut, sizeof(cut), "\xE2\x82\xAC", 2), "\\xe2\\x82");
        expect_quoted("\xC2\x9B", 64, "\\xc2\\x9b");
        expect_quoted("\xC2\xA0", 64, "\xC2\xA0");
        /* Marks of direction, and a line separator. */
        expect_quoted("\xE2\x80\xAE", 64, "\\xe2\\x80\\xae");
        expect_quoted("\xE2\x80\x8F", 64, "\\xe2\\x80\\x8f");
        expect_quoted("\xE2\x81\xA6", 64, "\\xe2\\x81\\xa6");
        expect_quoted("\xE2\x80\xA8", 64, "\\xe2\\x80\\xa8");
        expect_quoted("\xE2\x80\xA7", 64, "\xE2\x80\xA7");
        /* Cut between characters, with room for the ellipsis. */
        expect_quoted("abcdefgh", 9, "abcdefgh");
        expect_quoted("abcdefgh", 8, "abcd…");
        expect_quoted("abcd\xE2\x82\xAC", 7, "abc…");
        expect_quoted("abc", 3, ""); /* no room for the ellipsis */
}

static void test_errors(void **state)
{
        (void)state;
        struct error error = {0};
        assert_false(error_set(&error, EXIT_USAGE, "one\n%d", 1));
        assert_false(error_set(&error, EXIT_SETUP, "two"));
        assert_int_equal(error.status, EXIT_USAGE);
        assert_string_equal(error.text, "one\\x0a1");
        struct error full = {0};
        error_set(&full, EXIT_SETUP, "%*s", 4000, "x");
        assert_string_equal(full.text + strlen(full.text) - strlen("…"), "…");
}

static void test_numbers(void **state)
{
        static const char *const refused[] = {
            "", "x", "-1", "+1", " 1", "1 ", "0x1", "256", "99999999999999999999999"};
        uint64_t number;
        (void)state;
        assert_true(str_read_number("255", 255, &number));
        assert_int_equal(number, 255);
        assert_true(str_read_number("007", 255, &number));
        assert_int_equal(number, 7);
        for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
                assert_false(str_read_number(refused[i], 255, &number));
        assert_int_equal(str_read_digits("99999999999999999999999x", 255, &number), 23);
        assert_int_equal(number, 256);
        assert_int_equal(str_read_digits("12:34", 65535, &number), 2);
        assert_int_equal(number, 12);
}

static void test_releases(void **state)
{
        (void)state;
        assert_true(str_is_release("6.14.0-rc1-name", 6, 14));
        assert_true(str_is_release("7.0", 6, 14));
        assert_false(str_is_release("6.9.1", 6, 14));
        assert_false(str_is_release("5.20", 6, 14));
        assert_false(str_is_release("6", 6, 0));
        assert_false(str_is_release("x.1", 0, 0));
}

static void test_joining(void **state)
{
        struct str_list list = {0};
        char *text = NULL;
        (void)state;
        autofree char *none = str_join(&list, ", ");
        assert_string_equal(none, "");
        str_list_add(&list, "a");
        str_list_add(&list, "b");
        autofree char *both = str_join(&list, ", ");
        assert_string_equal(both, "a, b");
        str_append(&text, "%d", 1);
        str_append(&text, "-%s", text);
        assert_string_equal(text, "1-1");
        free(text);
        str_list_free(&list);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_join),
            cmocka_unit_test(test_places),
            cmocka_unit_test(test_names),
            cmocka_unit_test(test_suggestions),
            cmocka_unit_test(test_lists_and_environments),
            cmocka_unit_test(test_quoting),
            cmocka_unit_test(test_errors),
            cmocka_unit_test(test_numbers),
            cmocka_unit_test(test_releases),
            cmocka_unit_test(test_joining),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
