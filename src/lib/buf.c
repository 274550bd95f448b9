/* SPDX-License-Identifier: Apache-2.0
 *
 * See buf.h.
 */
#include "lib/buf.h"

#include "lib/fd.h"
#include "lib/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { CAPACITY_FIRST = 1024, CAPACITY_KEPT = 256 * 1024 };

void buf_put(struct buf *buf, const void *bytes, size_t length)
{
        if (length == 0)
                return;
        /* The capacity doubles, so that many small pieces take linear time. */
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

void buf_format(struct buf *buf, const char *format, ...)
{
        autofree char *text = NULL;
        va_list arguments;
        va_start(arguments, format);
        int length = vasprintf(&text, format, arguments);
        va_end(arguments);
        buf_put_text(buf, str_or_die(length < 0 ? NULL : text));
}

char *buf_take(struct buf *buf)
{
        buf_put(buf, "", 1);
        char *text = buf->bytes;
        *buf = (struct buf){0};
        return text;
}

void buf_clear(struct buf *buf)
{
        buf->length = buf->sent = 0;
        if (buf->capacity > CAPACITY_KEPT)
                buf_free(buf);
}

void buf_free(struct buf *buf)
{
        free(buf->bytes);
        *buf = (struct buf){0};
}
