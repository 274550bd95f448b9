/* SPDX-License-Identifier: Apache-2.0
 *
 * The line judge against a model that sees the whole text at once: verdicts may depend on the bytes only,
 * never on how they were cut.
 */
#include "lib/line.h"
#include "run/stdout_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define M "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}"

enum { NOISE_SHOWN = 100 }; /* so much of each noisy line is compared */

struct text {
        char *data;
        size_t length;
};

static void add(struct text *text, const char *data, size_t length)
{
        text->data = realloc(text->data, text->length + length + 1);
        assert_non_null(text->data);
        memcpy(text->data + text->length, data, length);
        text->length += length;
        text->data[text->length] = 0;
}

static void add_string(struct text *text, const char *string)
{
        add(text, string, strlen(string));
}

static void add_many(struct text *text, char c, size_t count)
{
        char *many = malloc(count + 1);

        assert_non_null(many);
        memset(many, c, count);
        add(text, many, count);
        free(many);
}

struct judged {
        struct text messages;
        struct text noise; /* the beginning of each line, each followed by a NUL */
};

static void judged_free(struct judged *judged)
{
        free(judged->messages.data);
        free(judged->noise.data);
}

static void add_noise(struct judged *judged, const char *line, size_t length)
{
        if (length > 0 && line[length - 1] == '\n')
                length--;
        add(&judged->noise, line, length < NOISE_SHOWN ? length : NOISE_SHOWN);
        add(&judged->noise, "", 1);
}

static struct judged model(const struct text *text)
{
        struct judged judged = {0};
        size_t start = 0;

        while (start < text->length) {
                const char *line = text->data + start;
                size_t length = 0;
                size_t first = 0;

                while (start + length < text->length && line[length] != '\n')
                        length++;
                size_t last = length;
                size_t with_newline = length + (start + length < text->length);
                while (first < length && strchr(" \t\r", line[first]) && line[first])
                        first++;
                while (last > first && strchr(" \t\r", line[last - 1]) && line[last - 1])
                        last--;

                bool is_long = length > LINE_WHOLE_MAX;
                bool opens = first < length && (!is_long || first < LINE_WHOLE_MAX) &&
                             (line[first] == '{' || line[first] == '[');
                bool closes = last > first && (line[last - 1] == '}' || line[last - 1] == ']');
                bool has_member = false;
                for (size_t i = 0; i + 9 <= length; i++)
                        has_member |= memcmp(line + i, "\"jsonrpc\"", 9) == 0;
                if (opens && (is_long || (closes && has_member)))
                        add(&judged.messages, line, with_newline);
                else if (is_long || last > first)
                        add_noise(&judged, line, with_newline);
                start += with_newline;
        }
        return judged;
}

/* Feeds the text in pieces; `next_piece` says how long each is. */
static struct judged judge_in_pieces(const struct text *text, size_t (*next_piece)(void))
{
        struct judged judged = {0};
        struct stdout_lines lines = {0};
        size_t start = 0;
        size_t end = 0;
        bool final = false;

        while (!final) {
                size_t piece = next_piece();
                enum stdout_lines_verdict verdict;
                size_t run;

                final = end == text->length;
                end += piece < text->length - end ? piece : text->length - end;
                /* A copy of exactly this size lets the address sanitizer see a read beyond it. */
                while (start < end) {
                        size_t length = end - start;
                        char *data = malloc(length);

                        assert_non_null(data);
                        memcpy(data, text->data + start, length);
                        verdict = stdout_lines_judge(&lines, data, length, final, &run);
                        if (verdict == STDOUT_LINES_MESSAGE)
                                add(&judged.messages, data, run);
                        if (verdict == STDOUT_LINES_NOISE)
                                add_noise(&judged, data, run);
                        free(data);
                        if (verdict == STDOUT_LINES_HOLD) {
                                assert_int_equal(run, 0);
                                assert_false(final);
                                assert_in_range(length, 1, LINE_WHOLE_MAX);
                                break;
                        }
                        assert_in_range(run, 1, length);
                        start += run;
                }
        }
        assert_int_equal(start, text->length);
        return judged;
}

static void assert_same(const struct judged *a, const struct judged *b)
{
        assert_int_equal(a->messages.length, b->messages.length);
        assert_int_equal(a->noise.length, b->noise.length);
        if (a->messages.length > 0)
                assert_memory_equal(a->messages.data, b->messages.data, a->messages.length);
        if (a->noise.length > 0)
                assert_memory_equal(a->noise.data, b->noise.data, a->noise.length);
}

static uint32_t random_state = 1;

static uint32_t next_random(void)
{
        random_state ^= random_state << 13;
        random_state ^= random_state >> 17;
        random_state ^= random_state << 5;
        return random_state;
}

static size_t everything(void)
{
        return SIZE_MAX;
}

static size_t one_byte(void)
{
        return 1;
}

static size_t few_bytes(void)
{
        return 1 + next_random() % 40;
}

static size_t many_bytes(void)
{
        return 1 + next_random() % 100000;
}

static void assert_as_model(const struct text *text, size_t (*next_piece)(void))
{
        struct judged expected = model(text);
        struct judged judged = judge_in_pieces(text, next_piece);

        assert_same(&judged, &expected);
        judged_free(&judged);
        judged_free(&expected);
}

static void assert_messages(const char *given, const char *messages, size_t noisy_lines)
{
        struct text text = {0};
        struct judged judged;
        size_t count = 0;

        add_string(&text, given);
        judged = judge_in_pieces(&text, everything);
        assert_int_equal(judged.messages.length, strlen(messages));
        if (*messages)
                assert_string_equal(judged.messages.data, messages);
        for (size_t i = 0; i < judged.noise.length; i++)
                count += judged.noise.data[i] == 0;
        assert_int_equal(count, noisy_lines);
        judged_free(&judged);
        assert_as_model(&text, one_byte);
        free(text.data);
}

static void what_is_a_message(void **state)
{
        (void)state;
        assert_messages(M "\n", M "\n", 0);
        assert_messages("[" M "]\n", "[" M "]\n", 0);
        assert_messages(" \t" M " \r\n", " \t" M " \r\n", 0);
        assert_messages("\r" M "\r\n", "\r" M "\r\n", 0);
        assert_messages(M, M, 0);
        assert_messages("{\"id\":1,\"jsonrpc\":\"2.0\"}\n", "{\"id\":1,\"jsonrpc\":\"2.0\"}\n", 0);
        assert_messages(M "\n{\"cut", M "\n", 1);
        assert_messages("listening on 3000\n" M "\n", M "\n", 1);
        assert_messages("{}\n[]\n[x}\n[{\"level\":30}]\n{\"level\":30}\n", "", 5);
        assert_messages("[x] tip: { quiet: true }\n{'jsonrpc':1}\n{\"jsonrpc \":1}\n", "", 3);
        assert_messages("{\"jsonrpc\":1} done\n\"jsonrpc\"\n{\"jsonrpc\"\n}\n", "", 4);
        assert_messages("[info] ready\n", "", 1);
        assert_messages("ready {}\n", "", 1);
        assert_messages("{\n}\n", "", 2);
        assert_messages("\n\r\n \t\n", "", 0);
        assert_messages("  ", "", 0);
        assert_messages("", "", 0);
        assert_messages("a\n" M "\n" M "\nb\nc\n" M "\n", M "\n" M "\n" M "\n", 3);
}

static void messages_in_a_row_are_one_run(void **state)
{
        struct stdout_lines lines = {0};
        const char *given = M "\n" M "\n[" M "]\nnoise\n" M "\n";
        size_t run;

        (void)state;
        assert_int_equal(stdout_lines_judge(&lines, given, strlen(given), false, &run), STDOUT_LINES_MESSAGE);
        assert_int_equal(run, strlen(M "\n" M "\n[" M "]\n"));
}

static void every_way_to_cut(void **state)
{
        const char *given = M "\r\n\nbanner\n [" M "] \n{bad\n\t\n{}\n[\n]]\n" M;
        size_t length = strlen(given);

        (void)state;
        for (size_t cut = 0; cut <= length; cut++) {
                struct text text = {0};

                add(&text, given, cut);
                for (int round = 0; round < 5; round++)
                        assert_as_model(&text, few_bytes);
                assert_as_model(&text, one_byte);
                assert_as_model(&text, everything);
                free(text.data);
        }
}

static void around_the_longest_held_line(void **state)
{
        static const char *const beginnings[] = {"{", "x", " {", "   ", "\r["};
        static const char *const endings[] = {
            "}\n", "}", "x\n", "x", " \n", "}\r\n", "}\n" M "\nnoise\n{}\n", "\"jsonrpc\"}\n"};

        (void)state;
        for (size_t b = 0; b < sizeof beginnings / sizeof *beginnings; b++)
                for (size_t e = 0; e < sizeof endings / sizeof *endings; e++)
                        for (size_t length = LINE_WHOLE_MAX - 3; length <= LINE_WHOLE_MAX + 2; length++) {
                                struct text text = {0};
                                size_t (*pieces[])(void) = {everything, many_bytes, many_bytes, many_bytes};

                                add_string(&text, M "\n");
                                add_string(&text, beginnings[b]);
                                add_many(&text, b == 3 ? ' ' : 'y', length - strlen(beginnings[b]) - 1);
                                add_string(&text, endings[e]);
                                for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
                                        assert_as_model(&text, pieces[i]);
                                free(text.data);
                        }
}

/* What a long line is shows in its beginning or not at all, however much of it is there. */
static void beginning_of_nothing_but_blanks(void **state)
{
        (void)state;
        for (size_t blanks = LINE_WHOLE_MAX - 1; blanks <= LINE_WHOLE_MAX + 1; blanks++) {
                struct text text = {0};

                add_many(&text, ' ', blanks);
                add_string(&text, M "\n");
                assert_as_model(&text, everything);
                assert_as_model(&text, many_bytes);
                free(text.data);
        }
}

static void random_texts(void **state)
{
        static const char *const parts[] = {"{",    "}", "[",  "]", "\n",       "\n",
                                            "\r\n", " ", "\t", "x", "\"key\":", "\"jsonrpc\":"};

        (void)state;
        for (int round = 0; round < 300; round++) {
                struct text text = {0};

                for (int i = 0; i < 60; i++) {
                        add_string(&text, parts[next_random() % (sizeof parts / sizeof *parts)]);
                        if (round % 20 == 0 && next_random() % 10 == 0)
                                add_many(&text, 'z', next_random() % (3 * LINE_WHOLE_MAX));
                }
                assert_as_model(&text, many_bytes);
                if (round % 20 != 0)
                        assert_as_model(&text, few_bytes);
                free(text.data);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(what_is_a_message),
            cmocka_unit_test(messages_in_a_row_are_one_run),
            cmocka_unit_test(every_way_to_cut),
            cmocka_unit_test(around_the_longest_held_line),
            cmocka_unit_test(beginning_of_nothing_but_blanks),
            cmocka_unit_test(random_texts),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
