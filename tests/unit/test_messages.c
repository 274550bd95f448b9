/* SPDX-License-Identifier: Apache-2.0
 *
 * hutch's own lines: one printable line each, whatever is in them, to the sink or to stderr.
 */
#include "lib/messages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct heard {
        char text[8192];
        size_t length;
        unsigned lines;
};

static void hear(void *context, const char *line, size_t length)
{
        struct heard *heard = context;

        assert_true(length < sizeof heard->text - heard->length);
        memcpy(heard->text + heard->length, line, length);
        heard->length += length;
        heard->text[heard->length] = 0;
        heard->lines++;
}

static void one_printable_line(void **state)
{
        struct heard heard = {0};

        (void)state;
        messages_send_to(hear, &heard);
        message("cannot open %s: %d", "a\nb\033[2J", 7);
        messages_send_to(NULL, NULL);
        assert_string_equal(heard.text, "[hutch] cannot open a\\x0ab\\x1b[2J: 7\n");
        assert_int_equal(heard.lines, 1);
}

static void long_text_is_cut_visibly(void **state)
{
        struct heard heard = {0};

        (void)state;
        messages_send_to(hear, &heard);
        message("%5000d", 1);
        messages_send_to(NULL, NULL);
        assert_in_range(heard.length, 1000, 2100);
        assert_string_equal(heard.text + heard.length - strlen("…\n"), "…\n");
}

static void verbose_only_when_asked(void **state)
{
        struct heard heard = {0};

        (void)state;
        messages_send_to(hear, &heard);
        message_verbose("hidden");
        messages_set_verbose(1);
        message_verbose("shown");
        messages_set_verbose(0);
        messages_send_to(NULL, NULL);
        assert_string_equal(heard.text, "[hutch] shown\n");
}

static void default_is_stderr(void **state)
{
        int ends[2];
        int saved = dup(STDERR_FILENO);
        char text[64];
        ssize_t length;

        (void)state;
        assert_return_code(pipe(ends), 0);
        dup2(ends[1], STDERR_FILENO);
        message("hello");
        dup2(saved, STDERR_FILENO);
        close(saved);
        close(ends[1]);
        length = read(ends[0], text, sizeof text);
        assert_int_equal(length, strlen("[hutch] hello\n"));
        assert_memory_equal(text, "[hutch] hello\n", (size_t)length);
        close(ends[0]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(one_printable_line),
            cmocka_unit_test(long_text_is_cut_visibly),
            cmocka_unit_test(verbose_only_when_asked),
            cmocka_unit_test(default_is_stderr),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
