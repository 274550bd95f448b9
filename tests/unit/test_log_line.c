/* SPDX-License-Identifier: Apache-2.0
 *
 * A record is one line and one JSON object, whatever is put into it.
 */
#include "lib/fd.h"
#include "lib/log_line.h"
#include "lib/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

/* Writes the line into a file and parses what is in it. The caller deletes. */
static cJSON *written(struct log_line *line)
{
        autoclose int fd = memfd_create("log", MFD_CLOEXEC);
        autofree char *text = NULL;
        int length = log_line_write(line, fd);
        assert_true(length > 0 && length <= LOG_LINE_MAX);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        assert_int_equal(fd_read_all(fd, 2 * LOG_LINE_MAX, &text), length);
        assert_ptr_equal(strchr(text, '\n'), text + length - 1);
        cJSON *object = cJSON_Parse(text);
        assert_non_null(object);
        return object;
}

static const char *text_of(const cJSON *object, const char *key)
{
        return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static void test_a_value_stays_a_value(void **state)
{
        autoline line = {0};
        (void)state;
        log_line_begin(&line, "line");
        log_line_text(&line, "text", "\"}\n{\"event\":\"end\"}\\\x01\xff", 200);
        log_line_number(&line, "largest", UINT64_MAX);
        char *items[] = {(char *)"a\"b", (char *)"abcdefghij"};
        log_line_list(&line, "list", &(struct str_list){items, 2}, 6);
        cJSON *object = written(&line);
        assert_string_equal(text_of(object, "event"), "line");
        assert_string_equal(text_of(object, "text"), "\"}\\x0a{\"event\":\"end\"}\\\\x01\\xff");
        cJSON *list = cJSON_GetObjectItemCaseSensitive(object, "list");
        assert_int_equal(cJSON_GetArraySize(list), 2);
        assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(list, 1)), "abc…");
        cJSON_Delete(object);
}

static void test_what_does_not_fit_is_left_out_whole(void **state)
{
        autoline line = {0};
        char quotes[3000];
        (void)state;
        memset(quotes, '"', sizeof(quotes) - 1);
        quotes[sizeof(quotes) - 1] = 0;
        log_line_begin(&line, "line");
        for (int i = 0; i < 8; i++)
                log_line_text(&line, "text", quotes, 100000);
        struct str_list items = {0};
        for (int i = 0; i < 500; i++)
                str_list_add(&items, "\"\"\"\"\"\"");
        log_line_list(&line, "list", &items, 100);
        str_list_free(&items);
        cJSON *object = written(&line);
        assert_int_equal(strlen(text_of(object, "text")), LOG_TEXT_MAX);
        assert_true(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(object, "list")) > 10);
        cJSON_Delete(object);
}

static void test_a_full_disk_is_an_error(void **state)
{
        autoline line = {0};
        autoclose int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
        (void)state;
        log_line_begin(&line, "line");
        assert_int_equal(log_line_write(&line, full), -ENOSPC);
}

static void test_members_of_another_program(void **state)
{
        static const char *const refused[] = {"", "\"a\":1}\n{\"b\":2", "\"a\":\"\x1b[2J\"",
                                              "\"a\":\"\xc3\xa4\"", "\"a\":\"\x7f\""};
        autoline line = {0};
        char much[LOG_LINE_MAX];
        (void)state;
        assert_true(log_line_begin_members(&line, "\"event\":\"dns\",\"type\":1"));
        log_line_text(&line, "sandbox", "0123abcd", 9);
        cJSON *object = written(&line);
        assert_string_equal(text_of(object, "event"), "dns");
        assert_string_equal(text_of(object, "sandbox"), "0123abcd");
        cJSON_Delete(object);
        for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
                assert_false(log_line_begin_members(&line, refused[i]));
        memset(much, 'a', sizeof(much) - 1);
        much[sizeof(much) - 1] = 0;
        assert_false(log_line_begin_members(&line, much));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_a_value_stays_a_value),
            cmocka_unit_test(test_what_does_not_fit_is_left_out_whole),
            cmocka_unit_test(test_a_full_disk_is_an_error),
            cmocka_unit_test(test_members_of_another_program),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
