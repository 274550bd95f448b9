/* SPDX-License-Identifier: Apache-2.0
 *
 * The strict scanner: what it accepts and how it writes that, and each class of what it refuses. Every line
 * is scanned in memory of exactly its size, so that the sanitizers see any read or write outside it.
 */
#include "mcp/jsonl.h"

#include "lib/fd.h"
#include "lib/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct jsonl jsonl = {.seed = 0x1234567890ABCDEF};

/* What became of a line: the message's text, "" for a blank one, or "no WHY". The caller frees. */
static char *scan_bytes(const char *line, size_t length, bool batches, struct jsonl_message *message)
{
        autofree char *copy = str_or_die(malloc(length + (length == 0)));
        memcpy(copy, line, length);
        const char *why = jsonl_scan(&jsonl, copy, length, batches, message);
        return why ? str_format("no %s", why) : str_copy_n(copy, message->length);
}

static void expect(const char *line, const char *result)
{
        struct jsonl_message message;
        autofree char *got = scan_bytes(line, strlen(line), false, &message);
        assert_string_equal(got, result);
}

static void expect_refused(const char *line, const char *word)
{
        struct jsonl_message message;
        autofree char *got = scan_bytes(line, strlen(line), false, &message);
        if (!str_starts(got, "no ") || !strstr(got, word))
                fail_msg("%s: %s, not %s", line, got, word);
}

static void test_what_is_understood(void **state)
{
        (void)state;
        expect("", "");
        expect(" \t ", "");
        expect("{\"id\":1,\"method\":\"ping\"}", "{\"id\":1,\"method\":\"ping\"}");
        expect("\t{ \"id\" : 1 , \"method\" : \"ping\" , \"params\" : { } } ",
               "{\"id\":1,\"method\":\"ping\",\"params\":{}}");
        /* Spelling that is the payload's own. */
        expect("{\"id\":1,\"result\":{\"a\":[1.0, 1e5 "
               ",-0.0,1E+2,123456789012345678901234567890,\"\\u0000\\ud800 \\/\", true,null,[ ] ]}}",
               "{\"id\":1,\"result\":{\"a\":[1.0,1e5,-0.0,1E+2,123456789012345678901234567890,"
               "\"\\u0000\\ud800 \\/\",true,null,[]]}}");
        expect("{\"method\":\"notifications/x\",\"params\":{\"arguments\":{\"Name\":1,\"name\":2}}}",
               "{\"method\":\"notifications/x\",\"params\":{\"arguments\":{\"Name\":1,\"name\":2}}}");
        expect("{\"id\":\"\\u0061\",\"error\":{\"code\":1,\"message\":\"\"}}",
               "{\"id\":\"\\u0061\",\"error\":{\"code\":1,\"message\":\"\"}}");
        expect("{\"id\":null,\"error\":{}}", "{\"id\":null,\"error\":{}}");
        expect("{\"id\":-9007199254740992,\"method\":\"x\",\"params\":null}",
               "{\"id\":-9007199254740992,\"method\":\"x\",\"params\":null}");
        expect("{\"id\":0,\"result\":\"\xF0\x9F\x98\x80\xE2\x80\xA8\xC2\x80\xF4\x8F\xBF\xBF\xED\x9F\xBF\"}",
               "{\"id\":0,\"result\":\"\xF0\x9F\x98\x80\xE2\x80\xA8\xC2\x80\xF4\x8F\xBF\xBF\xED\x9F\xBF\"}");
}

static void test_parts(void **state)
{
        (void)state;
        struct jsonl_message message;
        char line[] =
            " {\"m\\u0065thod\": \"tools\\/call\", \"params\": {\"name\": \"a\\u0062c\"}, \"id\": \"q\"} ";
        assert_null(jsonl_scan(&jsonl, line, strlen(line), false, &message));
        assert_int_equal(message.kind, JSONL_REQUEST);
        assert_true(json_text_is(message.method, "tools/call"));
        assert_false(json_text_is(message.method, "tools/cal"));
        assert_false(json_text_is(message.method, "tools/calls"));
        assert_true(json_text_is(message.id, "q"));
        assert_true(json_text_is(json_member(message.params, "name"), "abc"));
        assert_null(json_member(message.params, "names").at);
        assert_int_equal(message.params.length, strlen("{\"name\":\"a\\u0062c\"}"));
}

static void test_structure(void **state)
{
        (void)state;
        expect_refused("[]", "batch");
        expect_refused("1", "object");
        expect_refused("null", "object");
        expect_refused("\"x\"", "object");
        expect_refused("banner", "object");
        expect_refused("\xEF\xBB\xBF{\"id\":1,\"method\":\"x\"}", "object");
        expect_refused("{", "key");
        expect_refused("{\"id\":1,\"method\":\"x\"", "JSON");
        expect_refused("{\"id\":1,\"method\":\"x\"}}", "follows");
        expect_refused("{\"id\":1,\"method\":\"x\"}{\"id\":1}", "follows");
        expect_refused("{\"id\":1,\"method\":\"x\"},", "follows");
        expect_refused("{\"id\":1,\"method\":\"x\",}", "key");
        expect_refused("{,\"id\":1,\"method\":\"x\"}", "key");
        expect_refused("{\"id\":1,\"method\":\"x\",\"a\":[1,]}", "JSON");
        expect_refused("{\"id\":1,\"method\":\"x\",\"a\":[1}", "JSON");
        expect_refused("{\"id\":1,\"method\":\"x\",\"a\":{]}", "key");
        expect_refused("{\"id\" 1}", "no value");
        expect_refused("{id:1,\"method\":\"x\"}", "key");
        expect_refused("{'id':1}", "key");
        expect_refused("{\"id\":1,\"method\":\"x\"/* */}", "JSON");
        expect_refused("{\"id\":1,\"method\":\"x\",\r\"a\":1}", "key");
        expect_refused("{\"id\":1,\"method\":\"x\"\r}", "JSON");
        expect_refused("{\"id\":1,\"method\":\"x\"\v}", "JSON");
        expect_refused("{\"id\":1,\"method\":\"x\",\"a\":}", "JSON");
        expect_refused("{\"id\":1,\"method\":\"x\",\"a\":", "middle");
}

static void test_values(void **state)
{
        (void)state;
        static const char *const bad[] = {"01",
                                          "-",
                                          "+1",
                                          "1.",
                                          ".5",
                                          "1e",
                                          "1e+",
                                          "0x1",
                                          "1_0",
                                          "--1",
                                          "-01",
                                          "NaN",
                                          "Infinity",
                                          "-Infinity",
                                          "True",
                                          "nul",
                                          "undefined",
                                          "truex",
                                          "\"\\x41\"",
                                          "\"\\u12\"",
                                          "\"\\u12g4\"",
                                          "\"\t\"",
                                          "\"\x01\"",
                                          "\"",
                                          "\"\\\"",
                                          "\"\xFF\"",
                                          "\"\x80\"",
                                          "\"\xC0\x80\"",
                                          "\"\xC1\xBF\"",
                                          "\"\xE0\x80\x80\"",
                                          "\"\xED\xA0\x80\"",
                                          "\"\xF0\x80\x80\x80\"",
                                          "\"\xF4\x90\x80\x80\"",
                                          "\"\xF5\x80\x80\x80\"",
                                          "\"\xE2\x82\"",
                                          "\"\xE2\"",
                                          "'x'",
                                          "\"\\'\""};
        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
                autofree char *line =
                    str_format("{\"id\":1,\"method\":\"x\",\"params\":{\"arguments\":%s}}", bad[i]);
                expect_refused(line, "");
                autofree char *cut =
                    str_format("{\"id\":1,\"method\":\"x\",\"params\":{\"arguments\":%s", bad[i]);
                expect_refused(cut, "");
        }
        struct jsonl_message message;
        static const char nul[] = "{\"id\":1,\"method\":\"x\",\"a\":\"\0\"}";
        autofree char *got = scan_bytes(nul, sizeof(nul) - 1, false, &message);
        assert_non_null(strstr(got, "control byte"));
        static const char between[] = "{\"id\":1,\0\"method\":\"x\"}";
        autofree char *other = scan_bytes(between, sizeof(between) - 1, false, &message);
        assert_true(str_starts(other, "no "));
}

static void test_keys(void **state)
{
        (void)state;
        expect_refused("{\"id\":1,\"id\":1,\"method\":\"x\"}", "twice");
        expect_refused(
            "{\"id\":1,\"method\":\"x\",\"params\":{\"arguments\":{\"a\":1,\"b\":2,\"\\u0061\":3}}}",
            "twice");
        expect_refused(
            "{\"id\":1,\"method\":\"x\",\"params\":{\"arguments\":{\"\xC3\xA9\":1,\"\\u00e9\":3}}}", "twice");
        expect_refused("{\"id\":1,\"method\":\"x\",\"params\":{\"arguments\":[{\"\":1,\"\":3}]}}", "twice");
        expect(
            "{\"id\":1,\"method\":\"x\",\"params\":{\"arguments\":[{\"a\":1},{\"a\":3}],\"a\":{\"a\":1}}}",
            "{\"id\":1,\"method\":\"x\",\"params\":{\"arguments\":[{\"a\":1},{\"a\":3}],\"a\":{\"a\":1}}}");
        static const char *const folded[] = {"Method",
                                             "METHOD",
                                             "M\\u0065thod",
                                             "Jsonrpc",
                                             "ID",
                                             "\xC4\xB0"
                                             "d",
                                             "Result",
                                             "paramS"};
        for (size_t i = 0; i < sizeof(folded) / sizeof(*folded); i++) {
                autofree char *line = str_format("{\"id\":1,\"method\":\"x\",\"%s\":1}", folded[i]);
                expect_refused(line, "upper and lower");
        }
        expect_refused("{\"id\":1,\"method\":\"x\",\"param\xC5\xBF\":{}}", "upper and lower");
        expect_refused("{\"id\":1,\"method\":\"x\",\"param\\u017f\":{}}", "upper and lower");
        expect_refused("{\"id\":1,\"method\":\"x\",\"params\":{\"Name\":1}}", "upper and lower");
        expect_refused("{\"id\":1,\"method\":\"x\",\"params\":{\"\\u004eame\":1}}", "upper and lower");
        expect_refused("{\"id\":1,\"result\":{\"Tools\":[]}}", "upper and lower");
        expect_refused("{\"id\":1,\"result\":{\"input_requests\":{}}}", "underscores");
        expect_refused("{\"id\":1,\"result\":{\"tools\":[{\"Input_schema_\":{}}]}}", "underscores");
        expect_refused("{\"id\":1,\"error\":{\"code\":1,\"Code\":2}}", "upper and lower");
        expect_refused("{\"id\":1,\"error\":{\"code\":1,\"data\":{\"Elicitations\":[]}}}", "upper and lower");
        expect_refused("{\"id\":1,\"result\":{\"tools\":[{\"Name\":\"x\"}]}}", "upper and lower");
        expect_refused("{\"id\":1,\"result\":{\"inputRequests\":{\"a\":{\"Method\":\"x\"}}}}",
                       "upper and lower");
        expect("{\"id\":1,\"result\":{\"structuredContent\":{\"Tools\":[],\"tools\":[{\"Name\":1}]}}}",
               "{\"id\":1,\"result\":{\"structuredContent\":{\"Tools\":[],\"tools\":[{\"Name\":1}]}}}");
        expect_refused("{\"id\":1,\"method\":\"x\",\"params\":{\"arguments\":{\"a\\u0000\":1}}}",
                       "lone surrogate");
        expect_refused("{\"id\":1,\"method\":\"x\",\"params\":{\"arguments\":{\"\\ud800\":1}}}",
                       "lone surrogate");
        expect_refused("{\"id\":1,\"method\":\"x\\u0000\"}", "lone surrogate");
        expect_refused("{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"\\udc00\"}}",
                       "lone surrogate");
        expect_refused("{\"id\":\"\\ud83d\",\"method\":\"x\"}", "lone surrogate");
}

/* An object of many members, with one of them twice or not. */
static void test_many_keys(void **state)
{
        (void)state;
        enum { MANY = 5000, EACH = 16 };
        for (int twice = 0; twice < 2; twice++) {
                struct jsonl_message message;
                autofree char *line = str_or_die(malloc((MANY + 2) * EACH + 64));
                size_t length = (size_t)sprintf(line, "{\"id\":1,\"result\":{");
                for (int i = 0; i < MANY; i++)
                        length += (size_t)sprintf(line + length, "\"k%d\":0,", i);
                length += (size_t)sprintf(line + length, "\"k%d\":0}}", twice ? 1234 : MANY);
                const char *why = jsonl_scan(&jsonl, line, length, false, &message);
                assert_int_equal(why != NULL, twice);
        }
}

static void test_depth(void **state)
{
        (void)state;
        for (size_t depth = 120; depth < 140; depth++) {
                struct jsonl_message message;
                autofree char *line = str_or_die(malloc(4 * depth + 64));
                size_t length = (size_t)sprintf(line, "{\"id\":1,\"result\":");
                memset(line + length, '[', depth);
                memset(line + length + depth, ']', depth);
                length += 2 * depth;
                line[length++] = '}';
                const char *why = jsonl_scan(&jsonl, line, length, false, &message);
                assert_int_equal(why == NULL, depth + 1 <= JSONL_DEPTH_MAX);
        }
}

static void test_envelope(void **state)
{
        (void)state;
        static const char *const ids[] = {"1.0",
                                          "1e0",
                                          "-0",
                                          "9007199254740993",
                                          "-9007199254740993",
                                          "123456789012345678901",
                                          "null",
                                          "true",
                                          "[1]",
                                          "{}",
                                          "1E2"};
        for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
                autofree char *line = str_format("{\"id\":%s,\"method\":\"x\"}", ids[i]);
                expect_refused(line, "id");
                autofree char *answer = str_format("{\"id\":%s,\"result\":{}}", ids[i]);
                expect_refused(answer, "id");
        }
        expect_refused("{\"id\":1}", "not a JSON-RPC message");
        expect_refused("{}", "not a JSON-RPC message");
        expect_refused("{\"result\":{}}", "without an id");
        expect_refused("{\"id\":1,\"method\":1}", "method");
        expect_refused("{\"id\":1,\"method\":\"x\",\"params\":[1]}", "params");
        expect_refused("{\"id\":1,\"method\":\"x\",\"result\":{}}", "at once");
        expect_refused("{\"id\":1,\"result\":{},\"error\":{}}", "at once");
        expect_refused("{\"id\":1,\"error\":\"x\"}", "error");
        expect_refused("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"x\"}", "version");
        expect_refused("{\"jsonrpc\":2.0,\"id\":1,\"method\":\"x\"}", "version");
}

static void test_usable_id(void **state)
{
        (void)state;
        struct jsonl_message message;
        char early[] = "{\"id\":7,\"method\":\"x\",\"a\":01}", late[] = "{\"a\":01,\"id\":7}",
             odd[] = "{\"id\":7.5,\"a\":01}";
        assert_non_null(jsonl_scan(&jsonl, early, strlen(early), false, &message));
        assert_int_equal(message.id.length, 1);
        assert_int_equal(*message.id.at, '7');
        assert_non_null(jsonl_scan(&jsonl, late, strlen(late), false, &message));
        assert_null(message.id.at);
        assert_non_null(jsonl_scan(&jsonl, odd, strlen(odd), false, &message));
        assert_null(message.id.at);
}

static void test_batches(void **state)
{
        (void)state;
        struct jsonl_message message;
        static const char good[] = "[ {\"id\":1,\"method\":\"x\"} , {\"method\":\"y\"} ]";
        autofree char *got = scan_bytes(good, strlen(good), true, &message);
        assert_string_equal(got, "[{\"id\":1,\"method\":\"x\"},{\"method\":\"y\"}]");
        assert_int_equal(message.kind, JSONL_BATCH);
        static const char *const bad[] = {"[]", "[1]", "[{\"id\":1,\"method\":\"x\"},[]]",
                                          "[{\"Method\":\"x\"}]", "[[{\"id\":1,\"method\":\"x\"}]]"};
        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
                autofree char *refused = scan_bytes(bad[i], strlen(bad[i]), true, &message);
                assert_true(str_starts(refused, "no "));
        }
}

static void test_walking(void **state)
{
        (void)state;
        struct jsonl_message message;
        char line[] =
            "{\"id\":1,\"result\":{\"a\":[1, \"]\\\"\" ,{\"b\":[]}, null ], \"c\" : {} , \"d\":\"x\\\\\"}}";
        assert_null(jsonl_scan(&jsonl, line, strlen(line), false, &message));
        static const char *const keys[] = {"a", "c", "d"};
        struct json_span key, item;
        char *position = NULL;
        size_t count = 0;
        while (json_next(message.result, &position, &key, &item))
                assert_true(json_text_is(key, keys[count++]));
        assert_int_equal(count, 3);
        struct json_span list = json_member(message.result, "a");
        static const char *const items[] = {"1", "\"]\\\"\"", "{\"b\":[]}", "null"};
        position = NULL;
        count = 0;
        while (json_next(list, &position, &key, &item)) {
                autofree char *text = str_copy_n(item.at, item.length);
                assert_string_equal(text, items[count++]);
        }
        assert_int_equal(count, 4);
        position = NULL;
        assert_false(json_next(json_member(message.result, "c"), &position, &key, &item));
        assert_true(json_text_is(json_member(message.result, "d"), "x\\"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_what_is_understood),
            cmocka_unit_test(test_parts),
            cmocka_unit_test(test_structure),
            cmocka_unit_test(test_values),
            cmocka_unit_test(test_keys),
            cmocka_unit_test(test_many_keys),
            cmocka_unit_test(test_depth),
            cmocka_unit_test(test_envelope),
            cmocka_unit_test(test_usable_id),
            cmocka_unit_test(test_batches),
            cmocka_unit_test(test_walking),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
