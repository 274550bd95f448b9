/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader of git's configuration: the forms that git-config(1) documents, and text that is none of them.
 */
#include "grants/git_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void expect(const char *text, const char *hooks, const char *include)
{
        struct str_list found = {0}, includes = {0};
        git_config_read(text, &found, &includes);
        assert_int_equal(found.count, hooks ? 1 : 0);
        if (hooks)
                assert_string_equal(found.values[0], hooks);
        assert_int_equal(includes.count, include ? 1 : 0);
        if (include)
                assert_string_equal(includes.values[0], include);
        str_list_free(&found);
        str_list_free(&includes);
}

static void test_forms(void **state)
{
        (void)state;
        expect("[core]\n\thooksPath = a/b\n", "a/b", NULL);
        expect("[CORE] HooksPath=a\n", "a", NULL);
        expect("\xef\xbb\xbf  [core]\r\nhookspath = a \t\r\n", "a", NULL);
        expect("[core]\nhooksPath = a b ; c\n", "a b", NULL);
        expect("[core]\nhooksPath = \"a ;#b \" # c\n", "a ;#b ", NULL);
        expect("[core]\nhooksPath = a\\\n  b\n", "a  b", NULL);
        expect("[core]\nhooksPath = a\\\r\nb\n", "ab", NULL);
        expect("[core]\nhooksPath = \\\"\\\\\\t\n", "\"\\\t", NULL);
        expect("[core]\nbare\nhooksPath = a", "a", NULL);
        expect("[include]\npath = ~/x\n", NULL, "~/x");
        expect("[includeIf \"gitdir:a]\\\"b\"]\npath = x\n", NULL, "x");
        expect("[user]\nname = x\n[core]\nhooksPath = a\n[alias]\nhooksPath = b\n", "a", NULL);
}

static void test_what_names_nothing(void **state)
{
        (void)state;
        expect("", NULL, NULL);
        expect("hooksPath = a\n", NULL, NULL);
        expect("# [core]\n; [core]\nhooksPath = a\n", NULL, NULL);
        expect("[core]\nhooksPath\nhooksPath =\nhooksPathX = a\n", NULL, NULL);
        expect("[core]\nx = y\\\nhooksPath = a\n", NULL, NULL);
        expect("[core", NULL, NULL);
        expect("[core]\nhooksPath = \\", NULL, NULL);
        expect("[core \"", NULL, NULL);
        expect("[core]\nhooksPath = \"\n", NULL, NULL);
        expect("[core2]\nhooksPath = a\n", NULL, NULL);
        expect("[core-x]\nhooksPath = a\n", NULL, NULL);
        expect("[user]\npath = a\nhooksPath = b\n", NULL, NULL);
        expect("[include]\nhooksPath = a\n[core]\npath = b\n", NULL, NULL);
}

static void test_quoted_sections_that_do_not_end(void **state)
{
        (void)state;
        expect("[include \"a\\\npath = x\n", NULL, "x"); /* the line ends it */
        expect("[include \"a\npath = x\n", NULL, "x");
        expect("[include \"a\\\"]\"]\npath = x\n", NULL, "x");
        expect("[include a\\]\npath = x\n", NULL, "x"); /* no escape outside of quotes */
        expect("[core \"a\\\0]\nhooksPath = behind the end\n", NULL, NULL);
        expect("[core]\nhooksPath = a\rb\r\n", "a\rb", NULL);
        /* A key on the line of its section. */
        expect("[includeIf \"gitdir:a]b\"] path = x\n", NULL, "x");
        expect("[includeIf \"a\\\"]b\"] path = x\n", NULL, "x");
        expect("[include.sub] path = x\n", NULL, "x");
        expect("[include x] path = y\n", NULL, "y");
}

static void test_the_bounds(void **state)
{
        (void)state;
        char text[2048] = "[core]\n";
        struct str_list hooks = {0}, includes = {0};
        for (size_t i = 0, length = strlen(text); i < 70; i++)
                length += (size_t)snprintf(text + length, sizeof(text) - length, "hooksPath = x\n");
        git_config_read(text, &hooks, &includes);
        assert_int_equal(hooks.count, 64);
        str_list_free(&hooks);
        /* A word of 80 letters is cut. */
        (void)snprintf(text, sizeof(text), "[core]\n%080d = y\nhooksPath = z\n", 0);
        git_config_read(text, &hooks, &includes);
        assert_int_equal(hooks.count, 1);
        str_list_free(&hooks);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_forms),
            cmocka_unit_test(test_what_names_nothing),
            cmocka_unit_test(test_quoted_sections_that_do_not_end),
            cmocka_unit_test(test_the_bounds),
        };
        return cmocka_run_group_tests_name("git_config", tests, NULL, NULL);
}
