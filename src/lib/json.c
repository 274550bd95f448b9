/* SPDX-License-Identifier: Apache-2.0
 *
 * See json.h.
 */
#include "lib/json.h"

#include "lib/err.h"
#include "lib/fd.h"
#include "lib/json_text.h"
#include "lib/utf8.h"

#include <inttypes.h>

/* Writes a control character, a quote or a backslash, or in ASCII any other character. It makes no copy on
 * the heap, because a hostile text may consist of quotes alone. */
static void put_escape(struct buf *out, uint32_t code)
{
        static const char letters[] = "bfnrt\"\\", meant[] = "\b\f\n\r\t\"\\";
        const char *letter = code && code < 0x80 ? strchr(meant, (int)code) : NULL;
        char escape[16];
        if (letter)
                snprintf(escape, sizeof(escape), "\\%c", letters[letter - meant]);
        else if (code < 0x10000)
                snprintf(escape, sizeof(escape), "\\u%04x", code);
        else
                snprintf(escape, sizeof(escape), "\\u%04x\\u%04x", 0xD800 + ((code - 0x10000) >> 10),
                         0xDC00 + ((code - 0x10000) & 0x3FF));
        buf_put_text(out, escape);
}

void json_escape(struct buf *out, const char *text, size_t length, size_t limit, bool ascii)
{
        const unsigned char *at = (const unsigned char *)text, *end = at + length;
        size_t begin = out->length;
        while (at < end && out->length - begin < limit) {
                size_t room = limit - (out->length - begin);
                const unsigned char *stop = (size_t)(end - at) > room ? at + room : end;
                const unsigned char *plain = json_skip_plain(at, stop);
                const unsigned char *del = ascii ? memchr(at, 0x7F, (size_t)(plain - at)) : NULL;
                if (del)
                        plain = del;
                buf_put(out, at, (size_t)(plain - at));
                at = plain;
                if (at == stop)
                        continue;
                size_t character = utf8_measure(at, end);
                uint32_t code = character ? utf8_decode(at, character) : 0xFFFD;
                if (ascii || code < 0x80)
                        put_escape(out, code);
                else
                        buf_put(out, character ? at : (const void *)"\xEF\xBF\xBD",
                                character ? character : 3);
                at += character ? character : 1;
        }
        if (at < end)
                buf_put_text(out, ascii ? "\\u2026" : "…");
}

void json_string(struct buf *out, const char *text, size_t length, size_t limit, bool ascii)
{
        buf_put_text(out, "\"");
        json_escape(out, text, length, limit, ascii);
        buf_put_text(out, "\"");
}

static void put_line(struct json *json)
{
        buf_put_text(json->out, "\n");
        for (unsigned i = 0; i < json->depth; i++)
                buf_put_text(json->out, "\t");
}

/* What is before a value. */
static void begin_value(struct json *json, const char *key)
{
        if (json->comma)
                buf_put_text(json->out, json->pretty && !key ? ", " : ",");
        json->comma = true;
        if (key && json->pretty)
                put_line(json);
        if (key) {
                json_string(json->out, key, strlen(key), SIZE_MAX, json->ascii);
                buf_put_text(json->out, json->pretty ? ": " : ":");
        }
}

void json_raw(struct json *json, const char *key, const char *value, size_t length)
{
        begin_value(json, key);
        buf_put(json->out, value, length);
}

void json_open(struct json *json, const char *key, char bracket)
{
        json_raw(json, key, &bracket, 1);
        json->comma = false;
        json->depth++;
}

void json_close(struct json *json, const char *brackets)
{
        for (; *brackets; brackets++) {
                json->depth--;
                if (json->pretty && json->comma && *brackets == '}')
                        put_line(json);
                buf_put(json->out, brackets, 1);
                json->comma = true;
        }
}

void json_cut(struct json *json, const char *key, const char *text, size_t length, size_t limit)
{
        begin_value(json, key);
        json_string(json->out, text, length, limit, json->ascii);
}

void json_text(struct json *json, const char *key, const char *text)
{
        if (!text) {
                json_raw(json, key, "null", 4);
                return;
        }
        autofree char *shown = str_or_die(malloc(strlen(text) * 4 + 1));
        char *out = shown;
        do {
                size_t line = strcspn(text, "\t\n");
                out += strlen(error_quote(out, line * 4 + 1, text, line));
                text += line;
                *out++ = *text;
        } while (*text++);
        json_exact(json, key, shown, strlen(shown));
}

void json_texts(struct json *json, const char *key, const struct str_list *list)
{
        json_open(json, key, '[');
        for (size_t i = 0; i < list->count; i++)
                json_text(json, NULL, list->values[i]);
        json_close(json, "]");
}

void json_number(struct json *json, const char *key, uint64_t number)
{
        begin_value(json, key);
        buf_format(json->out, "%" PRIu64, number);
}

void json_number_if(struct json *json, bool known, const char *key, uint64_t number)
{
        if (known)
                json_number(json, key, number);
        else
                json_raw(json, key, "null", 4);
}

void json_bool(struct json *json, const char *key, bool value)
{
        json_raw(json, key, value ? "true" : "false", value ? 4 : 5);
}

char *json_shown(const char *text, size_t length, size_t limit)
{
        struct buf shown = {0};
        json_escape(&shown, text, length, limit, false);
        return buf_take(&shown);
}

bool json_print(struct json *json, FILE *out)
{
        buf_put_text(json->out, "\n");
        bool written = fwrite(json->out->bytes, json->out->length, 1, out) == 1 && fflush(out) == 0;
        buf_free(json->out);
        return written;
}
