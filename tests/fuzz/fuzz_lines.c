/* SPDX-License-Identifier: Apache-2.0
 *
 * What a server writes, on its two ways to the client: the supervisor's bridge, which gets it in pieces, and
 * the firewall. Both call the same lines noise, and what passes the firewall would pass the bridge.
 */
#include "fuzz.h"

#include "lib/fd.h"
#include "mcp/firewall.h"
#include "mcp/report.h"
#include "run/stdout_lines.h"

static bool noise_was_reported;

void filter_report(enum filter_message_type type, const char *text, size_t length)
{
        (void)text;
        (void)length;
        noise_was_reported |= type == FILTER_NOISE;
}

void filter_report_text(bool once, const char *format, ...)
{
        (void)once;
        (void)format;
}

/* The text that the input means: two of its bytes make lines that are too long to be held. */
static struct buf expand(const uint8_t *data, size_t size)
{
        enum { MANY = 33000 };
        struct buf text = {0};
        static char blanks[MANY], letters[MANY];
        memset(blanks, ' ', MANY);
        memset(letters, 'z', MANY);
        for (size_t i = 0; i < size && text.length < (1 << 20); i++) {
                if (data[i] == 0x01 || data[i] == 0x02)
                        buf_put(&text, data[i] == 0x01 ? blanks : letters, MANY);
                else
                        buf_put(&text, &data[i], 1);
        }
        return text;
}

/* The bridge's verdicts, each at the first byte of its line: 'm' for a message, 'n' for noise. */
static char *judge_as_bridge(const struct buf *text, size_t piece)
{
        char *kinds = str_or_die(calloc(text->length + 1, 1));
        struct stdout_lines lines = {0};
        size_t start = 0, end = 0;
        for (bool final = false; !final;) {
                final = end == text->length;
                end += piece < text->length - end ? piece : text->length - end;
                while (start < end) {
                        size_t run;
                        enum stdout_lines_verdict verdict =
                            stdout_lines_judge(&lines, text->bytes + start, end - start, final, &run);
                        if (verdict == STDOUT_LINES_HOLD)
                                break;
                        for (size_t i = start; i < start + run && verdict != STDOUT_LINES_IGNORE; i++)
                                if (i == 0 || text->bytes[i - 1] == '\n')
                                        kinds[i] = verdict == STDOUT_LINES_MESSAGE ? 'm' : 'n';
                        start += run;
                }
        }
        FUZZ_CHECK(start == text->length);
        return kinds;
}

static void compare_with_firewall(const struct buf *text, const char *kinds)
{
        struct firewall firewall = {.rules = {.message_max = 1 << 20}};
        size_t line = 0;
        firewall_begin(&firewall, 1);
        while (line < text->length) {
                const char *newline = memchr(text->bytes + line, '\n', text->length - line);
                size_t length = newline ? (size_t)(newline - text->bytes) - line : text->length - line;
                autofree char *copy = (char *)fuzz_copy((const uint8_t *)text->bytes + line, length);
                noise_was_reported = false;
                size_t passing = firewall_judge(&firewall, SERVER, copy, length);
                FUZZ_CHECK(noise_was_reported == (kinds[line] == 'n'));
                FUZZ_CHECK(!passing || kinds[line] == 'm');
                line += length + 1;
        }
        firewall_end_server(&firewall);
        jsonl_free(&firewall.scanner);
        free(firewall.listing.allow_used);
        free(firewall.listing.deny_used);
        for (int side = 0; side < SIDES; side++)
                free(firewall.answers[side].bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size == 0)
                return 0;
        struct buf text = expand(data + 1, size - 1);
        size_t piece = data[0] < 128 ? (size_t)data[0] + 1 : (size_t)data[0] * 1024;
        autofree char *kinds = judge_as_bridge(&text, text.length > 65536 ? piece + 9999 : piece);
        compare_with_firewall(&text, kinds);
        free(text.bytes);
        return 0;
}
