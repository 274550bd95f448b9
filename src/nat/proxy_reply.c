/* SPDX-License-Identifier: Apache-2.0
 *
 * See proxy_reply.h. Fields are checked for form and otherwise ignored: what follows the head of a 2xx reply
 * is the tunnel, whatever Content-Length says (RFC 9110, 9.3.6).
 */
#include "nat/proxy_reply.h"

#include <string.h>

size_t proxy_reply_end(const uint8_t *bytes, size_t length)
{
        const uint8_t *end = memmem(bytes, length, "\r\n\r\n", 4);
        return end ? (size_t)(end - bytes) + 4 : 0;
}

static int is_text(uint8_t byte)
{
        return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
}

/* Whether the line is a token, a colon, and text. */
static int is_field(const uint8_t *line, size_t length)
{
        const uint8_t *colon = memchr(line, ':', length);
        if (!colon || colon == line)
                return 0;
        for (const uint8_t *at = line; at < colon; at++)
                if (*at <= 0x20 || *at >= 0x7f || strchr("\"(),/;<=>?@[\\]{}", *at))
                        return 0;
        for (const uint8_t *at = colon; at < line + length; at++)
                if (!is_text(*at))
                        return 0;
        return 1;
}

/* Reads "HTTP/1.x 200", then nothing, or a space and text. The status, or -1. */
static int read_status(const uint8_t *line, size_t length)
{
        static const char version[] = "HTTP/1.";
        size_t at = sizeof(version) - 1;
        int status = 0;
        if (length < at + 5 || memcmp(line, version, at) != 0 || (line[at] != '0' && line[at] != '1') ||
            line[at + 1] != ' ')
                return -1;
        at += 2;
        for (size_t end = at + 3; at < end; at++) {
                if (line[at] < '0' || line[at] > '9')
                        return -1;
                status = status * 10 + (line[at] - '0');
        }
        if (at < length && line[at] != ' ')
                return -1;
        for (; at < length; at++)
                if (!is_text(line[at]))
                        return -1;
        return status >= 100 && status < 600 ? status : -1;
}

int proxy_reply_status(const uint8_t *head, size_t length)
{
        int status = -1;
        for (size_t line = 0; line < length;) {
                const uint8_t *end = memmem(head + line, length - line, "\r\n", 2);
                if (!end)
                        return -1;
                size_t size = (size_t)(end - (head + line));
                if (line == 0)
                        status = read_status(head, size);
                else if (size == 0)
                        return line + 2 == length ? status : -1;
                else if (!is_field(head + line, size))
                        return -1;
                if (status < 0)
                        return -1;
                line += size + 2;
        }
        return -1;
}
