/* SPDX-License-Identifier: Apache-2.0
 *
 * See err.h. No function allocates, so that running out of memory can be reported too.
 */
#include "lib/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The length of the UTF-8 sequence at `text` (`left` bytes, > 0), or 0 if it is invalid or not printable.
 * Overlong forms, surrogates and C1 controls are refused (RFC 3629). */
static size_t valid_sequence(const unsigned char *text, size_t left)
{
        if (text[0] < 0x80)
                return text[0] >= 0x20 && text[0] != 0x7f ? 1 : 0;
        size_t length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
        if (text[0] < 0xc2 || text[0] > 0xf4 || left < length)
                return 0;
        for (size_t i = 1; i < length; i++)
                if ((text[i] & 0xc0) != 0x80)
                        return 0;
        if ((text[0] == 0xc2 && text[1] < 0xa0) || (text[0] == 0xe0 && text[1] < 0xa0) ||
            (text[0] == 0xed && text[1] > 0x9f) || (text[0] == 0xf0 && text[1] < 0x90) ||
            (text[0] == 0xf4 && text[1] > 0x8f))
                return 0;
        /* Marks that change the direction of the text after them (U+200E, 200F, 202A to 202E, 2066 to 2069),
         * and characters that some programs take for the end of a line (U+2028, 2029). */
        if (text[0] == 0xe2 &&
            ((text[1] == 0x80 && ((text[2] & 0xfe) == 0x8e || (text[2] >= 0xa8 && text[2] <= 0xae))) ||
             (text[1] == 0x81 && text[2] >= 0xa6 && text[2] <= 0xa9)))
                return 0;
        return length;
}

char *error_quote(char *out, size_t size, const char *text, size_t length)
{
        static const char hex[] = "0123456789abcdef";
        static const char ellipsis[] = "…";
        const unsigned char *bytes = (const unsigned char *)text;
        size_t used = 0, fits = 0; /* `fits`: the longest prefix that leaves room for the ellipsis */

        for (size_t i = 0; i < length;) {
                size_t sequence = valid_sequence(bytes + i, length - i);
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
                        const char escape[4] = {'\\', 'x', hex[bytes[i] >> 4], hex[bytes[i] & 15]};
                        memcpy(out + used, escape, sizeof(escape));
                        i++;
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
        char text[sizeof(error->text)];
        va_list arguments;
        va_start(arguments, format);
        int length = vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
        if (length < 0)
                length = 0;
        if ((size_t)length >= sizeof(text)) /* the text is cut; error_quote() shows it with an ellipsis */
                length = sizeof(text) - 1;
        error_quote(error->text, sizeof(error->text), text, (size_t)length);
        error->status = status;
        return false;
}
