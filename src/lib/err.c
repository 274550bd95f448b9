/* SPDX-License-Identifier: Apache-2.0
 *
 * See err.h. No function allocates, so that running out of memory can be reported too.
 */
#include "lib/err.h"

#include "lib/hex.h"
#include "lib/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* True for control characters, for marks that change the direction of the text after them (U+200E, 200F, 202A
 * to 202E, 2066 to 2069), and for what some programs take for the end of a line (U+2028, 2029). */
static bool is_unprintable(uint32_t code)
{
        return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code & ~1U) == 0x200e ||
               (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/* The length of the character at `text` (`left` bytes, > 0), or 0 if it is invalid or not printable. */
static size_t measure_printable(const unsigned char *text, size_t left)
{
        size_t length = utf8_measure(text, text + left);
        return length == 0 || is_unprintable(utf8_decode(text, length)) ? 0 : length;
}

char *error_quote(char *out, size_t size, const char *text, size_t length)
{
        static const char ellipsis[] = "…";
        const unsigned char *bytes = (const unsigned char *)text;
        size_t used = 0, fits = 0; /* `fits`: the longest prefix that leaves room for the ellipsis */

        for (size_t i = 0; i < length;) {
                size_t sequence = measure_printable(bytes + i, length - i);
                size_t wanted = sequence ? sequence : 4;
                if (used + sizeof(ellipsis) <= size)
                        fits = used;
                if (used + wanted + 1 > size) {
                        used = fits;
                        if (fits + sizeof(ellipsis) <= size) {
                                memcpy(out + fits, ellipsis, sizeof(ellipsis) - 1);
                                used += sizeof(ellipsis) - 1;
                        }
                        break;
                }
                if (sequence) {
                        memcpy(out + used, bytes + i, sequence);
                        i += sequence;
                } else {
                        memcpy(out + used, "\\x", 2);
                        hex_write(out + used + 2, &bytes[i++], 1);
                }
                used += wanted;
        }
        out[used] = 0;
        return out;
}

bool error_set(struct error *error, int status, const char *format, ...)
{
        if (error->status)
                return false;
        char text[sizeof(error->text) + 1]; /* one more, so that error_quote() sees that a text was cut */
        va_list arguments;
        va_start(arguments, format);
        int length = vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
        if (length < 0)
                length = 0;
        if ((size_t)length >= sizeof(text))
                length = sizeof(text) - 1;
        error_quote(error->text, sizeof(error->text), text, (size_t)length);
        error->status = status;
        return false;
}
