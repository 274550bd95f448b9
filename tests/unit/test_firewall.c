/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of the MCP firewall: patterns, requests in flight, canonical forms and how they differ,
 * escapes.
 */
#include "lib/fd.h"
#include "lib/json.h"
#include "lib/str.h"
#include "mcp/canonical.h"
#include "mcp/jsonl.h"
#include "mcp/requests.h"
#include "policy/tools.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct json_span span_of(char *text)
{
        return (struct json_span){text, strlen(text)};
}

static bool matches(const char *pattern, const char *name)
{
        return tool_pattern_matches(pattern, name, strlen(name));
}

static void test_patterns(void **state)
{
        (void)state;
        static const char *const yes[][2] = {{"a", "a"},
                                             {"*", ""},
                                             {"*", "x"},
                                             {"a*", "a"},
                                             {"a*", "abc"},
                                             {"*c", "abc"},
                                             {"a*c", "abc"},
                                             {"a*b*c", "aXbYc"},
                                             {"?", "x"},
                                             {"?", "é"},
                                             {"a?c", "a\xE4\xB8\x96"
                                                     "c"},
                                             {"**", "x"},
                                             {"*a*", "bab"},
                                             {"*ab", "aab"}};
        static const char *const no[][2] = {{"a", "A"},  {"a", ""},     {"a", "ab"},    {"?", ""},
                                            {"?", "xy"}, {"a*c", "ab"}, {"*ab", "aba"}, {"", "x"}};
        for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
                if (!matches(yes[i][0], yes[i][1]))
                        fail_msg("%s does not match %s", yes[i][0], yes[i][1]);
        for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
                if (matches(no[i][0], no[i][1]))
                        fail_msg("%s matches %s", no[i][0], no[i][1]);
        assert_true(matches("", ""));
        assert_false(tool_pattern_matches("evil", "evil\0x", 6));
        /* What makes a matcher that tries everything take for ever. */
        char name[2001] = {0};
        memset(name, 'a', 2000);
        assert_false(matches("*a*a*a*a*a*a*a*a*a*a*a*a*b", name));
}

static void test_requests(void **state)
{
        (void)state;
        static struct requests table;
        char number[] = "1", text[] = "\"1\"", spelled[] = "\"\\u0031\"", other[] = "2";
        struct request *one = requests_add(&table, span_of(number));
        assert_null(requests_find(&table, span_of(text)));
        struct request *two = requests_add(&table, span_of(text));
        assert_ptr_equal(requests_find(&table, span_of(number)), one);
        assert_ptr_equal(requests_find(&table, span_of(spelled)), two);
        assert_null(requests_find(&table, span_of(other)));
        requests_add(&table, span_of(number)); /* instead of the first */
        assert_int_equal(table.count, 2);
        requests_remove(&table, two);
        assert_null(requests_find(&table, span_of(text)));
        for (int i = 0; i < REQUEST_MAX + 100; i++) {
                char id[16];
                snprintf(id, sizeof(id), "%d", i + 1000);
                requests_add(&table, span_of(id));
        }
        assert_int_equal(table.count, REQUEST_MAX);
        assert_null(requests_find(&table, span_of(number))); /* the oldest made room */
        while (table.oldest)
                requests_remove(&table, table.oldest);
        assert_int_equal(table.count, 0);
        assert_null(table.newest);
}

/* The canonical form of a text; the caller frees. */
static char *form_of(const char *text)
{
        struct jsonl scanner = {.seed = 1};
        struct json_span object;
        struct buf out = {0};
        autofree char *copy = str_copy(text);
        assert_true(jsonl_scan_object(&scanner, copy, strlen(copy), &object));
        canonical_put(&out, object);
        buf_put(&out, "", 1);
        jsonl_free(&scanner);
        return out.bytes;
}

static void test_canonical(void **state)
{
        (void)state;
        autofree char *form =
            form_of("{\"b\":[1.0, {\"z\":1,\"a\":\"\\u00e9\\/\\n\"}], \"a\":\"x\", \"\":null, \"ab\":true}");
        assert_string_equal(form,
                            "{\"\":null,\"a\":\"x\",\"ab\":true,\"b\":[1.0,{\"a\":\"é/\\n\",\"z\":1}]}");
        autofree char *empty = form_of("{ }");
        assert_string_equal(empty, "{}");
        char many[8192] = "{", *end = many + 1;
        for (int i = 300; i > 0; i--)
                end += sprintf(end, "\"k%03d\":%d%s", i, i, i > 1 ? "," : "}");
        autofree char *sorted = form_of(many);
        assert_non_null(strstr(sorted, "{\"k001\":1,\"k002\":2,"));
        assert_non_null(strstr(sorted, "\"k299\":299,\"k300\":300}"));
}

static void take_line(void *context, const char *line)
{
        buf_put_text(context, line);
        buf_put_text(context, "\n");
}

static void expect_difference(const char *was, const char *is, const char *lines)
{
        autofree char *before = form_of(was), *after = form_of(is);
        struct buf out = {0};
        canonical_compare(span_of(before), span_of(after), 3, take_line, &out);
        buf_put(&out, "", 1);
        assert_string_equal(out.bytes, lines);
        free(out.bytes);
}

static void test_differences(void **state)
{
        (void)state;
        expect_difference("{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", "");
        expect_difference("{\"a\":{\"b\":[1]}}", "{\"a\":{\"b\":[2]}}", "a.b was [1] and is [2]\n");
        expect_difference("{\"a\":1}", "{\"b\":1}", "a is gone; it was 1\nb is new: 1\n");
        expect_difference("{\"a\":1,\"b\":1,\"c\":1,\"d\":1}", "{\"a\":2,\"b\":2,\"c\":2,\"d\":2}",
                          "a was 1 and is 2\nb was 1 and is 2\nc was 1 and is 2\n");
        expect_difference("{\"a\":\"x\"}", "{\"a\":\"x\xE2\x80\x8B\xF3\xA0\x81\x81\"}",
                          "a was \"x\" and is \"x\\u{200B}\\u{E0041}\"\n");
}

static void test_escapes(void **state)
{
        (void)state;
        static const struct {
                const char *text;
                size_t length, limit;
                const char *escaped;
        } cases[] = {
            {"plain", 5, 100, "plain"},
            {"a\"\\\n\x01", 5, 100, "a\\\"\\\\\\n\\u0001"},
            {"\0", 1, 100, "\\u0000"},
            {"\xFF"
             "a",
             2, 100,
             "\xEF\xBF\xBD"
             "a"},
            {"é", 2, 100, "é"},
            {"abcdef", 6, 3, "abc…"},
            {"", 0, 0, ""},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct buf out = {0};
                json_escape(&out, cases[i].text, cases[i].length, cases[i].limit, false);
                buf_put(&out, "", 1);
                assert_string_equal(out.bytes, cases[i].escaped);
                free(out.bytes);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_patterns),  cmocka_unit_test(test_requests),
            cmocka_unit_test(test_canonical), cmocka_unit_test(test_differences),
            cmocka_unit_test(test_escapes),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
