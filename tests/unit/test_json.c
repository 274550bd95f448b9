/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON writer: whatever a key or a value contains, one object comes out; buffers that grow, and
 * hexadecimal digits.
 */
#include "lib/fd.h"
#include "lib/hex.h"
#include "lib/json.h"

#include "unit.h"

#include <cjson/cJSON.h>

static void test_compact(void **state)
{
        autobuf text = {0};
        struct json json = {.out = &text};
        char words[] = "one", empty[] = "";
        char *values[] = {words, empty};
        (void)state;
        json_open(&json, NULL, '{');
        json_text(&json, "none", NULL);
        json_texts(&json, "list", &(struct str_list){values, 2});
        json_open(&json, "empty", '[');
        json_close(&json, "]");
        json_open(&json, "object", '{');
        json_close(&json, "}");
        json_bool(&json, "yes", true);
        json_number(&json, "most", UINT64_MAX);
        json_number_if(&json, false, "unknown", 1);
        json_raw(&json, NULL, "\"raw\":[1]", 9);
        json_close(&json, "}");
        autofree char *written = buf_take(&text);
        assert_string_equal(written,
                            "{\"none\":null,\"list\":[\"one\",\"\"],\"empty\":[],\"object\":{},\"yes\":true,"
                            "\"most\":18446744073709551615,\"unknown\":null,\"raw\":[1]}");
}

static void test_pretty(void **state)
{
        char *shown = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&shown, &length);
        struct buf text = {0};
        struct json json = {.out = &text, .pretty = true};
        (void)state;
        json_open(&json, NULL, '{');
        json_open(&json, "list", '[');
        json_number(&json, NULL, 1);
        json_number(&json, NULL, 2);
        json_close(&json, "]");
        json_open(&json, "object", '{');
        json_bool(&json, "no", false);
        json_close(&json, "}}");
        assert_true(json_print(&json, out));
        assert_null(text.bytes);
        (void)fclose(out);
        assert_string_equal(shown, "{\n\t\"list\": [1, 2],\n\t\"object\": {\n\t\t\"no\": false\n\t}\n}\n");
        free(shown);
}

/* Every byte, as a key and as a value, gives an object with one member. */
static void test_nothing_ends_a_string(void **state)
{
        (void)state;
        for (int byte = 1; byte < 256; byte++)
                for (int ascii = 0; ascii < 2; ascii++) {
                        const char given[] = {'a', (char)byte, '"', ',', 0};
                        autobuf text = {0};
                        struct json json = {.out = &text, .ascii = ascii};
                        json_open(&json, NULL, '{');
                        json_text(&json, given, given);
                        json_exact(&json, "exact", given, 4);
                        json_close(&json, "}");
                        for (size_t i = 0; ascii && i < text.length; i++)
                                assert_in_range(text.bytes[i], ' ', '~');
                        cJSON *object = cJSON_ParseWithLength(text.bytes, text.length);
                        assert_int_equal(cJSON_GetArraySize(object), 2);
                        const char *exact = cJSON_GetStringValue(cJSON_GetArrayItem(object, 1));
                        assert_string_equal(exact + strlen(exact) - 2, "\",");
                        if (byte < 0x80)
                                assert_string_equal(exact, given);
                        cJSON_Delete(object);
                }
}

static void test_texts_are_printable(void **state)
{
        autobuf text = {0};
        struct json json = {.out = &text};
        (void)state;
        json_text(&json, NULL, "a\x1b\n\tb\xff\xe2\x80\xae");
        autofree char *written = buf_take(&text);
        assert_string_equal(written, "\"a\\\\x1b\\n\\tb\\\\xff\\\\xe2\\\\x80\\\\xae\"");
}

static void test_ascii(void **state)
{
        autobuf text = {0};
        (void)state;
        json_escape(&text, "é😀\x7f\xff", 8, SIZE_MAX, true);
        json_escape(&text, "abcdef", 6, 3, true);
        autofree char *written = buf_take(&text);
        assert_string_equal(written, "\\u00e9\\ud83d\\ude00\\u007f\\ufffdabc\\u2026");
}

static void test_buffers_grow(void **state)
{
        autobuf text = {0};
        (void)state;
        for (int i = 0; i < 1000; i++)
                buf_format(&text, "%03d", i);
        buf_put(&text, NULL, 0);
        assert_int_equal(text.length, 3000);
        assert_memory_equal(text.bytes + 2997, "999", 3);
        autofree char *taken = buf_take(&text), *empty = buf_take(&text);
        assert_int_equal(strlen(taken), 3000);
        assert_string_equal(empty, "");
}

static void test_hexadecimal(void **state)
{
        char digits[9] = "";
        uint8_t bytes[4];
        (void)state;
        hex_write(digits, "\x00\x7f\xa0\xff", 4);
        assert_string_equal(digits, "007fa0ff");
        assert_true(hex_read("007FA0ff", bytes, 4));
        assert_memory_equal(bytes, "\x00\x7f\xa0\xff", 4);
        assert_false(hex_read("007fa0f", bytes, 4));
        assert_false(hex_read("00g0a0ff", bytes, 4));
        for (int c = 0; c < 256; c++)
                if (!c || !strchr("0123456789abcdefABCDEF", c))
                        assert_int_equal(hex_value((char)c), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_compact),
            cmocka_unit_test(test_pretty),
            cmocka_unit_test(test_nothing_ends_a_string),
            cmocka_unit_test(test_texts_are_printable),
            cmocka_unit_test(test_ascii),
            cmocka_unit_test(test_buffers_grow),
            cmocka_unit_test(test_hexadecimal),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
