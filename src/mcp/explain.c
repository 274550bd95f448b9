/* SPDX-License-Identifier: Apache-2.0
 *
 * See explain.h.
 */
#include "mcp/explain.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "mcp/json_text.h"

#include <stdlib.h>

/* The text of a string member; the caller frees. */
static char *take_member(struct json_span object, const char *key)
{
        struct json_span value = json_member(object, key);
        if (!json_is_string(value))
                return str_copy("");
        char *text = str_or_die(malloc(value.length));
        text[json_unescape(value.at, value.length, text)] = 0;
        return text;
}

void explain_take(struct explain *explain, struct jsonl *scanner, const char *members, size_t length)
{
        struct json_span record;
        autofree char *text = str_format("{%.*s}", (int)length, members);
        if (!jsonl_scan_object(scanner, text, strlen(text), &record) ||
            !json_text_is(json_member(record, "decision"), "denied"))
                return;
        bool asked = json_text_is(json_member(record, "event"), "dns");
        autofree char *what = take_member(record, asked ? "name" : "destination");
        autofree char *reason = take_member(record, "reason");
        char **place = &explain->refusals[explain->count++ % EXPLAIN_KEPT];
        free(*place);
        *place =
            asked ? str_format("the name %s", what) : str_format("a connection to %s (%s)", what, reason);
}

static bool said_before(const struct explain *explain, uint64_t first, uint64_t now)
{
        for (uint64_t i = first; i < now; i++)
                if (str_equal(explain->refusals[i % EXPLAIN_KEPT], explain->refusals[now % EXPLAIN_KEPT]))
                        return true;
        return false;
}

bool explain_put(const struct explain *explain, uint64_t since, char *line,
                 const struct jsonl_message *message, struct outbox *out)
{
        struct json_span content = json_member(message->result, "content");
        struct json_span failed = json_member(message->result, "isError");
        if (!explain->on || explain->count == since || !json_is_array(content) || !failed.at ||
            *failed.at != 't')
                return false;
        uint64_t first = explain->count - since > EXPLAIN_KEPT ? explain->count - EXPLAIN_KEPT : since;
        size_t before = (size_t)(content.at - line) + content.length - 1; /* up to the closing bracket */
        outbox_put(out, line, before);
        outbox_put(out, ",", content.length > 2);
        outbox_put_text(
            out,
            "{\"type\":\"text\",\"text\":\"During this call hutch, the sandbox of this server, refused ");
        for (uint64_t i = first; i < explain->count; i++) {
                const char *refusal = explain->refusals[i % EXPLAIN_KEPT];
                if (said_before(explain, first, i))
                        continue;
                outbox_put_text(out, i > first ? ", " : "");
                outbox_put_escaped(out, refusal, strlen(refusal), SIZE_MAX);
        }
        outbox_put_text(
            out, ". Only the person who configures this server can permit it, with --network-allow.\"}");
        outbox_put(out, line + before, message->length - before);
        outbox_put(out, "\n", 1);
        return true;
}
