/* SPDX-License-Identifier: Apache-2.0
 *
 * See buf.h.
 */
#include "mcp/buf.h"

#include "lib/str.h"
#include "mcp/json_text.h"

#include <stdio.h>
#include <stdlib.h>

enum { CAPACITY_FIRST = 1024, CAPACITY_KEPT = 256 * 1024 };

void buf_put(struct buf *buf, const void *bytes, size_t length)
{
        if (length == 0)
                return;
        while (buf->capacity - buf->length < length) {
                size_t capacity = buf->capacity ? 2 * buf->capacity : CAPACITY_FIRST;
                buf->bytes = str_or_die(reallocarray(buf->bytes, capacity, 1));
                buf->capacity = capacity;
        }
        memcpy(buf->bytes + buf->length, bytes, length);
        buf->length += length;
}

void buf_put_text(struct buf *buf, const char *text)
{
        buf_put(buf, text, strlen(text));
}

static void put_control(struct buf *buf, unsigned char c)
{
        static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
        const char *letter = c ? strchr(meant, c) : NULL;
        char escape[8];
        if (c == '"' || c == '\\')
                snprintf(escape, sizeof(escape), "\\%c", c);
        else if (letter)
                snprintf(escape, sizeof(escape), "\\%c", letters[letter - meant]);
        else
                snprintf(escape, sizeof(escape), "\\u%04x", c);
        buf_put_text(buf, escape);
}

void buf_put_escaped(struct buf *buf, const char *text, size_t length, size_t limit)
{
        const unsigned char *at = (const unsigned char *)text, *end = at + length;
        const unsigned char *stop = length > limit ? at + limit : end;
        while (at < stop) {
                const unsigned char *plain = json_skip_plain(at, stop);
                buf_put(buf, at, (size_t)(plain - at));
                at = plain;
                if (at == stop)
                        break;
                size_t character = *at < 0x80 ? 1 : json_measure_character(at, end);
                if (*at < 0x80)
                        put_control(buf, *at);
                else if (character == 0)
                        buf_put_text(buf, "\xEF\xBF\xBD");
                else
                        buf_put(buf, at, character);
                at += character ? character : 1;
        }
        if (length > limit)
                buf_put_text(buf, "…");
}

void buf_clear(struct buf *buf)
{
        buf->length = buf->sent = 0;
        if (buf->capacity <= CAPACITY_KEPT)
                return;
        free(buf->bytes);
        *buf = (struct buf){0};
}
