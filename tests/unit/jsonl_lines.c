/* SPDX-License-Identifier: Apache-2.0
 *
 * The scanner as a filter of lines, for tests that compare it with other parsers, and its speed:
 *
 *   jsonl_lines [batches]    for each line of stdin one line: `ok TEXT` with what was understood, `blank`, or
 *                            `no WHY ID`, ID being the id that an answer could name, or -
 *   jsonl_lines speed        MB per second over long strings, over short members, over text that is not ASCII
 */
#include "mcp/jsonl.h"

#include "lib/fd.h"
#include "lib/str.h"

#include <stdio.h>
#include <time.h>

enum { INPUT_MAX = 512 << 20, TIMES = 20 };

static void judge_line(struct jsonl *jsonl, char *line, size_t length, bool batches)
{
        struct jsonl_message message;
        const char *why = jsonl_scan(jsonl, line, length, batches, &message);
        if (why)
                printf("no %s %.*s", why, message.id.at ? (int)message.id.length : 1,
                       message.id.at ? message.id.at : "-");
        else if (message.kind == JSONL_BLANK)
                printf("blank");
        else
                printf("ok %.*s", (int)message.length, line);
        putchar('\n');
}

static int judge_lines(bool batches)
{
        struct jsonl jsonl = {.seed = 0x0123456789ABCDEF};
        autofree char *input = NULL;
        ssize_t length = fd_read_all(0, INPUT_MAX, &input);
        if (length < 0)
                return 1;
        char *line = input, *end = input + length, *newline;
        for (; line < end && (newline = memchr(line, '\n', (size_t)(end - line))); line = newline + 1) {
                size_t size = (size_t)(newline - line);
                /* Exactly as large as the line, so that a sanitizer sees a read behind it. */
                autofree char *copy = str_or_die(malloc(size + (size == 0)));
                memcpy(copy, line, size);
                judge_line(&jsonl, copy, size, batches);
        }
        jsonl_free(&jsonl);
        return 0;
}

static double now(void)
{
        struct timespec time;
        clock_gettime(CLOCK_MONOTONIC, &time);
        return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void measure(const char *name, const char *repeated)
{
        enum { SIZE = 10 << 20 };
        static const char before[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[",
                          after[] = "0]}}";
        struct jsonl jsonl = {.seed = 1};
        struct jsonl_message message;
        size_t part = strlen(repeated), count = SIZE / part, length = 0;
        autofree char *line = str_or_die(malloc(sizeof(before) + sizeof(after) + count * part));
        memcpy(line, before, sizeof(before) - 1);
        length += sizeof(before) - 1;
        for (size_t i = 0; i < count; i++, length += part)
                memcpy(line + length, repeated, part);
        memcpy(line + length, after, sizeof(after) - 1);
        length += sizeof(after) - 1;
        double best = 1e9;
        for (int i = 0; i < TIMES; i++) {
                double began = now();
                const char *why = jsonl_scan(&jsonl, line, length, false, &message);
                double took = now() - began;
                best = took < best ? took : best;
                if (why)
                        printf("%s: %s\n", name, why);
        }
        printf("%-28s %6.0f MB/s\n", name, (double)length / 1e6 / best);
        jsonl_free(&jsonl);
}

int main(int argc, char **argv)
{
        if (argc == 2 && str_equal(argv[1], "speed")) {
                enum { LONG = 1 << 20 };
                static char text[LONG + 4] = "\"";
                memset(text + 1, 'x', LONG);
                memcpy(text + LONG + 1, "\",", 3);
                measure("strings of 1 MiB", text);
                measure("strings of 40 bytes", "\"the quick brown fox jumps over the lazy!\",");
                measure("text with escapes",
                        "\"a line of text, as a file has it\\n\\tindented \\\"so\\\" far\\n\",");
                measure("text in German",
                        "\"Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich\",");
                measure("text in Chinese", "\"我能吞下玻璃而不伤身体我能吞下玻璃而不伤身体\",");
                measure("small objects", "{\"name\":\"x\",\"value\":12.5,\"on\":true},");
                measure("numbers", "12,345.5,");
                return 0;
        }
        return judge_lines(argc == 2 && str_equal(argv[1], "batches"));
}
