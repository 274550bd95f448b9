/* SPDX-License-Identifier: Apache-2.0
 *
 * See call_log.h. A secret is searched for in the unescaped text of each string, so that no spelling hides
 * it, and in each number as spelled. A record is printable ASCII, whatever the call contains.
 */
#include "mcp/call_log.h"
#include "lib/clock.h"

#include "lib/fd.h"
#include "mcp/buf.h"
#include "mcp/json_text.h"
#include "mcp/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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
                buf_put_escaped(&escaped, at, (size_t)(slash - at), SIZE_MAX);
                buf_put_text(&escaped, "\\/");
        }
        buf_put_escaped(&escaped, at, strlen(at), SIZE_MAX);
        buf_put(&escaped, "", 1);
        if (!str_list_has(&log->secrets, escaped.bytes))
                str_list_add(&log->secrets, escaped.bytes);
        free(escaped.bytes);
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

/* How a part of a text is written: as it is, or escaped for a JSON string. */
typedef void put_part(struct buf *out, const char *text, size_t length);

static void put_plain(struct buf *out, const char *text, size_t length)
{
        buf_put(out, text, length);
}

static void put_escaped(struct buf *out, const char *text, size_t length)
{
        buf_put_escaped(out, text, length, SIZE_MAX);
}

static void put_text(struct buf *out, const struct str_list *secrets, put_part *put, const char *text,
                     size_t length)
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
                        put(out, text + begin, i - begin);
                        buf_put_text(out, HIDDEN);
                }
                begin = i + secret;
        }
        put(out, text + begin, length - begin);
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
        autofree char *text = str_or_die(malloc(string.length));
        buf_put(out, "\"", 1);
        put_text(out, secrets, put_escaped, text, json_unescape(string.at, string.length, text));
        buf_put(out, "\"", 1);
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

/* Writes one character outside ASCII as JSON escapes it. */
static void put_units(struct buf *out, const unsigned char *at, size_t length)
{
        char units[16];
        uint32_t code = length == 2   ? (at[0] & 0x1FU) << 6 | (at[1] & 0x3FU)
                        : length == 3 ? (at[0] & 0x0FU) << 12 | (at[1] & 0x3FU) << 6 | (at[2] & 0x3FU)
                                      : (at[0] & 0x07U) << 18 | (at[1] & 0x3FU) << 12 | (at[2] & 0x3FU) << 6 |
                                            (at[3] & 0x3FU);
        if (code < 0x10000)
                snprintf(units, sizeof(units), "\\u%04x", code);
        else
                snprintf(units, sizeof(units), "\\u%04x\\u%04x", 0xD800 + ((code - 0x10000) >> 10),
                         0xDC00 + ((code - 0x10000) & 0x3FF));
        buf_put_text(out, units);
}

/* Writes text for a JSON string in printable ASCII only: about `limit` bytes, then an ellipsis. */
static void put_ascii(struct buf *out, const char *text, size_t length, size_t limit)
{
        const unsigned char *at = (const unsigned char *)text, *end = at + length;
        size_t most = out->length + limit;
        while (at < end && out->length < most) {
                size_t character = *at < 0x80 ? 1 : json_measure_character(at, end);
                if (*at == 0x7F)
                        buf_put_text(out, "\\u007f");
                else if (*at < 0x80)
                        buf_put_escaped(out, (const char *)at, 1, 1);
                else if (character == 0)
                        buf_put_text(out, "\\ufffd");
                else
                        put_units(out, at, character);
                at += character ? character : 1;
        }
        if (at < end)
                buf_put_text(out, "\\u2026");
}

/* Writes `,"KEY":"TEXT"`. */
static void put_member(struct buf *out, const char *key, const char *text, size_t length, size_t limit)
{
        buf_put_text(out, ",\"");
        buf_put_text(out, key);
        buf_put_text(out, "\":\"");
        put_ascii(out, text, length, limit);
        buf_put_text(out, "\"");
}

static void put_number(struct buf *out, const char *key, uint64_t number)
{
        char text[64];
        snprintf(text, sizeof(text), ",\"%s\":%" PRIu64, key, number);
        buf_put_text(out, text);
}

/* Writes the members that describe a call: the tool, and the arguments if the log has them. */
static void put_call(const struct call_log *log, struct buf *out, struct json_span params)
{
        struct json_span name = json_member(params, "name"), arguments = json_member(params, "arguments");
        struct buf shown = {0}, shown_name = {0};
        autofree char *text = str_or_die(malloc(name.length + 1));
        size_t length = json_is_string(name) ? json_unescape(name.at, name.length, text) : 0;
        buf_put_text(out, "\"event\":\"call\"");
        put_text(&shown_name, &log->secrets, put_plain, text, length);
        buf_put(&shown_name, "", 1); /* so that `bytes` is not NULL for an empty name */
        put_member(out, "tool", shown_name.bytes, shown_name.length - 1, NAME_MAX_BYTES);
        free(shown_name.bytes);
        if (!log->arguments || !arguments.at)
                return;
        put_value(&shown, &log->secrets, arguments);
        put_member(out, "arguments", shown.bytes, shown.length, CALL_ARGUMENTS_MAX);
        free(shown.bytes);
}

void call_log_begin(const struct call_log *log, struct request *request, struct json_span params)
{
        struct buf out = {0};
        if (!log->on)
                return;
        put_call(log, &out, params);
        request->record = out.bytes;
        request->record_length = out.length;
}

void call_log_end(const struct call_log *log, const struct request *request, size_t bytes, bool failed)
{
        struct buf out = {0};
        if (!log->on || !request->record)
                return;
        buf_put(&out, request->record, request->record_length);
        buf_put_text(&out, ",\"decision\":\"allowed\",\"end\":\"");
        buf_put_text(&out, bytes == 0 ? "no answer\"" : failed ? "error\"" : "answer\"");
        put_number(&out, "duration_ms", (uint64_t)(clock_now_ns() - request->began_ns) / 1000000);
        put_number(&out, "bytes_in", request->bytes);
        put_number(&out, "bytes_out", bytes);
        filter_report(FILTER_RECORD, out.bytes, out.length);
        free(out.bytes);
}

void call_log_refused(const struct call_log *log, struct json_span params, size_t bytes, const char *why)
{
        struct buf out = {0};
        if (!log->on)
                return;
        put_call(log, &out, params);
        buf_put_text(&out, ",\"decision\":\"refused\"");
        put_member(&out, "reason", why, strlen(why), NAME_MAX_BYTES);
        put_number(&out, "bytes_in", bytes);
        filter_report(FILTER_RECORD, out.bytes, out.length);
        free(out.bytes);
}
