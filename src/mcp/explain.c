/* SPDX-License-Identifier: Apache-2.0
 *
 * See explain.h.
 *
 * Theory of operation. The filter holds the answer back while it asks hutch-nat, which knows by then
 * everything that the server could have noticed (nat/refusals.c). Only failed calls pay for the question.
 * hutch-nat made its text of hostile bytes: the filter escapes it, and uses it in a sentence only.
 */
#include "mcp/explain.h"

#include "lib/clock.h"
#include "lib/json.h"
#include "mcp/wire.h"
#include "nat/wire.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

struct answer {
        struct nat_asked head;
        char text[NAT_TEXT_MAX];
};

/* Asks for the refusals since then; returns the length of the text, 0 for none. */
static size_t ask_nat(struct explain *explain, long long since, struct answer *answer)
{
        struct nat_asked question = {.number = ++explain->asked, .since = since};
        if (write(FILTER_NAT, &question, sizeof(question)) != sizeof(question))
                return 0;
        long long until = clock_now_ms() + EXPLAIN_WAIT_MS, left = EXPLAIN_WAIT_MS;
        struct pollfd nat = {.fd = FILTER_NAT, .events = POLLIN};
        for (; left >= 0 && poll(&nat, 1, (int)left) > 0; left = until - clock_now_ms()) {
                ssize_t got = read(FILTER_NAT, answer, sizeof(*answer));
                if (got < (ssize_t)sizeof(answer->head))
                        return 0;
                /* Skip an answer that came too late for its own question. */
                if (answer->head.number == explain->asked)
                        return (size_t)got - sizeof(answer->head);
        }
        return 0;
}

/* Writes the half sentences, each of which ends with an LF, as one list. */
static void put_refusals(struct buf *out, const char *text, size_t length)
{
        const char *end = text + length, *newline;
        for (const char *at = text; (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
                buf_put_text(out, at > text ? ", " : "");
                buf_put(out, at, (size_t)(newline - at));
        }
}

bool explain_put(struct explain *explain, long long since, char *line, const struct jsonl_message *message,
                 struct buf *out)
{
        struct json_span content = json_member(message->result, "content");
        struct json_span failed = json_member(message->result, "isError");
        struct answer answer;
        if (!explain->on || !json_is_array(content) || !failed.at || *failed.at != 't')
                return false;
        size_t length = ask_nat(explain, since, &answer);
        if (length == 0)
                return false;
        size_t before = (size_t)(content.at - line) + content.length - 1; /* up to the closing bracket */
        buf_put(out, line, before);
        buf_put(out, ",", content.length > 2);
        autobuf text = {0};
        struct json json = {.out = out};
        buf_put_text(&text, "During this call hutch, the sandbox of this server, refused ");
        put_refusals(&text, answer.text, length);
        buf_put_text(&text,
                     ". Only the user who configures this server can permit that, with --network-allow.");
        json_open(&json, NULL, '{');
        json_text(&json, "type", "text");
        json_exact(&json, "text", text.bytes, text.length);
        json_close(&json, "}");
        buf_put(out, line + before, message->length - before);
        buf_put(out, "\n", 1);
        return true;
}
