/* SPDX-License-Identifier: Apache-2.0
 *
 * See call_log.h. A secret is searched for in the unescaped text of each string, so that no spelling hides
 * it, and in each number as spelled. A record is printable ASCII, whatever the call contains.
 */
#include "mcp/call_log.h"

#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/json.h"
#include "lib/json_text.h"
#include "mcp/report.h"

static const char HIDDEN[] = "[hidden]";
enum {
        NAME_MAX_BYTES = 200,
        LOOKED_AT_MAX = 2 * CALL_ARGUMENTS_MAX, /* a record shows less: text behind this is not searched */
};

/* ---- hiding ---- */

/* Adds a value as a JSON string spells it. Many writers escape slashes too, so that is a second form. */
static void hide_escaped(struct call_log *log, const char *value, bool slashes)
{
        struct buf escaped = {0};
        const char *at = value;
        for (const char *slash; slashes && (slash = strchr(at, '/')); at = slash + 1) {
                json_escape(&escaped, at, (size_t)(slash - at), SIZE_MAX, false);
                buf_put_text(&escaped, "\\/");
        }
        json_escape(&escaped, at, strlen(at), SIZE_MAX, false);
        autofree char *text = buf_take(&escaped);
        if (!str_list_has(&log->secrets, text))
                str_list_add(&log->secrets, text);
}

void call_log_hide(struct call_log *log, const char *value)
{
        if (strlen(value) < CALL_SECRET_LEAST)
                return;
        str_list_add(&log->secrets, value);
        hide_escaped(log, value, false);
        hide_escaped(log, value, true);
}

/* The length of the longest secret that begins at `text`, or 0. */
static size_t find_secret(const struct str_list *secrets, const char *text, size_t length)
{
        size_t longest = 0;
        for (size_t i = 0; i < secrets->count; i++) {
                size_t size = strlen(secrets->values[i]);
                if (size > longest && size <= length && memcmp(secrets->values[i], text, size) == 0)
                        longest = size;
        }
        return longest;
}

/* Writes a text without the secrets in it. */
static void put_hidden(struct buf *out, const struct str_list *secrets, const char *text, size_t length)
{
        size_t begin = 0; /* everything before it is written or hidden */
        for (size_t i = 0; i < length; i++) {
                if (i >= begin && out->length + (i - begin) > LOOKED_AT_MAX) {
                        length = i;
                        break;
                }
                size_t secret = find_secret(secrets, text + i, length - i);
                if (secret == 0 || i + secret <= begin)
                        continue;
                if (i >= begin) { /* else it overlaps a secret that is hidden already */
                        buf_put(out, text + begin, i - begin);
                        buf_put_text(out, HIDDEN);
                }
                begin = i + secret;
        }
        buf_put(out, text + begin, length - begin);
}

static bool has_secret(const struct str_list *secrets, struct json_span value)
{
        for (size_t i = 0; i < value.length; i++)
                if (find_secret(secrets, value.at + i, value.length - i))
                        return true;
        return false;
}

static void put_string(struct buf *out, const struct str_list *secrets, struct json_span string)
{
        size_t length;
        autofree char *text = json_text_of(string, &length);
        autobuf shown = {0};
        put_hidden(&shown, secrets, text, length);
        json_string(out, shown.bytes, shown.length, SIZE_MAX, false);
}

static void put_value(struct buf *out, const struct str_list *secrets, struct json_span value)
{
        struct json_span key, item;
        char *position = NULL;
        bool object = json_is_object(value);
        bool number = !object && !json_is_array(value) && !json_is_string(value);
        if (number && value.length > LOOKED_AT_MAX)
                value.length = LOOKED_AT_MAX;
        if (json_is_string(value)) {
                put_string(out, secrets, value);
        } else if (object || json_is_array(value)) {
                buf_put_text(out, object ? "{" : "[");
                for (bool first = true;
                     out->length <= LOOKED_AT_MAX && json_next(value, &position, &key, &item);
                     first = false) {
                        buf_put(out, ",", !first);
                        if (object) {
                                put_string(out, secrets, key);
                                buf_put(out, ":", 1);
                        }
                        put_value(out, secrets, item);
                }
                buf_put_text(out, object ? "}" : "]");
        } else if (has_secret(secrets, value)) {
                buf_put_text(out, "\"[hidden]\"");
        } else {
                buf_put(out, value.at, value.length);
        }
}

/* ---- records ---- */

/* Writes the members that describe a call: the tool, and the arguments if the log has them. */
static void put_call(const struct call_log *log, struct json *json, struct json_span params)
{
        struct json_span name = json_member(params, "name"), arguments = json_member(params, "arguments");
        autobuf shown = {0}, shown_name = {0};
        size_t length = 0;
        autofree char *text = json_is_string(name) ? json_text_of(name, &length) : NULL;
        json_text(json, "event", "call");
        put_hidden(&shown_name, &log->secrets, text, length);
        json_cut(json, "tool", shown_name.bytes, shown_name.length, NAME_MAX_BYTES);
        if (!log->arguments || !arguments.at)
                return;
        put_value(&shown, &log->secrets, arguments);
        json_cut(json, "arguments", shown.bytes, shown.length, CALL_ARGUMENTS_MAX);
}

void call_log_begin(const struct call_log *log, struct request *request, struct json_span params)
{
        struct json json = {.out = &request->record, .ascii = true};
        if (log->on)
                put_call(log, &json, params);
}

void call_log_end(const struct call_log *log, const struct request *request, size_t bytes, bool failed)
{
        autobuf out = {0};
        struct json json = {.out = &out, .ascii = true};
        if (!log->on || !request->record.length)
                return;
        json_raw(&json, NULL, request->record.bytes, request->record.length);
        json_text(&json, "decision", "allowed");
        json_text(&json, "end", bytes == 0 ? "no answer" : failed ? "error" : "answer");
        json_number(&json, "duration_ms", (uint64_t)(clock_now_ns() - request->began_ns) / 1000000);
        json_number(&json, "bytes_in", request->bytes);
        json_number(&json, "bytes_out", bytes);
        filter_report(FILTER_RECORD, out.bytes, out.length);
}

void call_log_refused(const struct call_log *log, struct json_span params, size_t bytes, const char *why)
{
        autobuf out = {0};
        struct json json = {.out = &out, .ascii = true};
        if (!log->on)
                return;
        put_call(log, &json, params);
        json_text(&json, "decision", "refused");
        json_cut(&json, "reason", why, strlen(why), NAME_MAX_BYTES);
        json_number(&json, "bytes_in", bytes);
        filter_report(FILTER_RECORD, out.bytes, out.length);
}
