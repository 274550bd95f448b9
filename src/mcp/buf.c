/* SPDX-License-Identifier: Apache-2.0
 *
 * See buf.h.
 */
#include "mcp/buf.h"

#include "lib/str.h"
#include "mcp/json_text.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROOM_FIRST = 1024, ROOM_KEPT = 256 * 1024 };

void buf_put(struct buf *box, const void *bytes, size_t length)
{
        if (length == 0)
                return;
        while (box->room - box->length < length) {
                size_t room = box->room ? 2 * box->room : ROOM_FIRST;
                box->bytes = str_or_die(reallocarray(box->bytes, room, 1));
                box->room = room;
        }
        memcpy(box->bytes + box->length, bytes, length);
        box->length += length;
}

void buf_put_text(struct buf *box, const char *text)
{
        buf_put(box, text, strlen(text));
}

static void put_control(struct buf *box, unsigned char c)
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
        buf_put_text(box, escape);
}

void buf_put_escaped(struct buf *box, const char *text, size_t length, size_t limit)
{
        const unsigned char *at = (const unsigned char *)text, *end = at + length;
        const unsigned char *stop = length > limit ? at + limit : end;
        while (at < stop) {
                const unsigned char *plain = json_skip_plain(at, stop);
                buf_put(box, at, (size_t)(plain - at));
                at = plain;
                if (at == stop)
                        break;
                size_t character = *at < 0x80 ? 1 : json_measure_character(at, end);
                if (*at < 0x80)
                        put_control(box, *at);
                else if (character == 0)
                        buf_put_text(box, "\xEF\xBF\xBD");
                else
                        buf_put(box, at, character);
                at += character ? character : 1;
        }
        if (length > limit)
                buf_put_text(box, "…");
}

void buf_clear(struct buf *box)
{
        box->length = box->sent = 0;
        if (box->room <= ROOM_KEPT)
                return;
        free(box->bytes);
        *box = (struct buf){0};
}
