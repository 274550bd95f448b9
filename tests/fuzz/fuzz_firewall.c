/* SPDX-License-Identifier: Apache-2.0
 *
 * A whole conversation: lines of both sides, each with a first byte that says whose it is. Whatever passes is
 * a line that the scanner accepts, and no call of a refused tool is among what reaches the server.
 */
#include "fuzz.h"

#include "lib/fd.h"
#include "mcp/firewall.h"
#include "mcp/report.h"

/* What the filter would tell its supervisor goes nowhere. */
void filter_report(enum filter_message_type type, const char *text, size_t length)
{
        (void)type;
        for (size_t i = 0; i < length; i++)
                FUZZ_CHECK(text[i] || type == FILTER_NOISE);
}

void filter_report_text(bool once, const char *format, ...)
{
        (void)once;
        (void)format;
}

static void check_line(struct jsonl *scanner, const char *text, size_t length, bool to_server)
{
        struct jsonl_message message;
        autofree char *line = (char *)fuzz_copy((const uint8_t *)text, length);
        FUZZ_CHECK(!jsonl_scan(scanner, line, length, true, &message));
        FUZZ_CHECK(message.length == length);
        if (to_server && message.kind != JSONL_BATCH && json_text_is(message.method, "tools/call"))
                FUZZ_CHECK(!json_text_is(json_member(message.params, "name"), "evil"));
}

static void check_answers(struct firewall *firewall, enum side to)
{
        struct buf *buf = &firewall->answers[to];
        if (buf->length == 0)
                return;
        char *line = buf->bytes, *end = line + buf->length, *newline;
        for (; line < end; line = newline + 1) {
                newline = memchr(line, '\n', (size_t)(end - line));
                FUZZ_CHECK(newline);
                check_line(&firewall->scanner, line, (size_t)(newline - line), to == SERVER);
        }
        free(buf->bytes);
        *buf = (struct buf){0};
}

static void play_line(struct firewall *firewall, const uint8_t *line, size_t length)
{
        enum side from = line[0] & 1 ? SERVER : CLIENT;
        autofree char *copy = (char *)fuzz_copy(line + 1, length - 1);
        size_t passing = firewall_judge(firewall, from, copy, length - 1);
        FUZZ_CHECK(passing <= length - 1);
        if (passing)
                check_line(&firewall->scanner, copy, passing, from == CLIENT);
        check_answers(firewall, CLIENT);
        check_answers(firewall, SERVER);
}

static void end(struct firewall *firewall)
{
        firewall_end_server(firewall);
        jsonl_free(&firewall->scanner);
        tool_rules_free(&firewall->rules);
        free(firewall->listing.allow_used);
        free(firewall->listing.deny_used);
        free(firewall->pins.server);
        pins_free(&firewall->pins);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct firewall firewall;
        firewall = (struct firewall){.rules = {.message_max = 1 << 20}};
        if (size == 0)
                return 0;
        str_list_add(&firewall.rules.deny, "evil");
        if (data[0] & 1)
                str_list_add(&firewall.rules.allow, "g*d");
        firewall.rules.deny_sampling = firewall.rules.deny_elicitation = data[0] & 2;
        firewall.pins.on = data[0] & 4;
        firewall.pins.server = str_copy("s");
        firewall.calls.on = firewall.calls.arguments = data[0] & 8;
        firewall.batches = data[0] & 16;
        firewall_begin(&firewall, 1);
        const uint8_t *line = data + 1, *end_of_data = data + size;
        while (line < end_of_data) {
                const uint8_t *newline = memchr(line, '\n', (size_t)(end_of_data - line));
                const uint8_t *stop = newline ? newline : end_of_data;
                if (stop > line)
                        play_line(&firewall, line, (size_t)(stop - line));
                line = stop + 1;
        }
        end(&firewall);
        return 0;
}
