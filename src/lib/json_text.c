/* SPDX-License-Identifier: Apache-2.0
 *
 * See json_text.h.
 */
#include "lib/json_text.h"

#include "lib/hex.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef signed char signed16 __attribute__((vector_size(16)));
typedef uint64_t words2 __attribute__((vector_size(16)));

/* The index of the first byte that is not zero, in memory order. */
static size_t first_byte(uint64_t word)
{
        int zeros = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_ctzll(word) : __builtin_clzll(word);
        return (size_t)zeros / 8;
}

const unsigned char *json_skip_plain(const unsigned char *at, const unsigned char *end)
{
        while (end - at >= 16) {
                signed16 bytes;
                memcpy(&bytes, at, sizeof(bytes));
                /* as signed bytes, 0x80 and above are less than a blank too */
                signed16 found =
                    (signed16)(bytes < 0x20) | (signed16)(bytes == '"') | (signed16)(bytes == '\\');
                words2 words = (words2)found;
                if (words[0] | words[1])
                        return at + (words[0] ? first_byte(words[0]) : 8 + first_byte(words[1]));
                at += 16;
        }
        while (at < end && *at >= 0x20 && *at < 0x80 && *at != '"' && *at != '\\')
                at++;
        return at;
}

/* The code unit that four hexadecimal digits spell, or -1. */
static int read_unit(const unsigned char *at, const unsigned char *end)
{
        uint8_t bytes[2];
        if (end - at < 4 || !hex_read((const char *)at, bytes, 2))
                return -1;
        return bytes[0] << 8 | bytes[1];
}

static bool is_high(int unit)
{
        return unit >= 0xD800 && unit < 0xDC00;
}

static bool is_low(int unit)
{
        return unit >= 0xDC00 && unit < 0xE000;
}

const unsigned char *json_skip_escape(const unsigned char *at, const unsigned char *end, unsigned *has)
{
        *has |= JSON_HAS_ESCAPES;
        if (end - at < 2)
                return NULL;
        if (at[1] != 'u')
                return at[1] && strchr("\"\\/bfnrt", at[1]) ? at + 2 : NULL;
        int unit = read_unit(at + 2, end);
        if (unit < 0)
                return NULL;
        at += 6;
        if (unit == 0)
                *has |= JSON_HAS_NUL;
        if (is_high(unit) && end - at >= 2 && at[0] == '\\' && at[1] == 'u' && is_low(read_unit(at + 2, end)))
                return at + 6;
        if (is_high(unit) || is_low(unit))
                *has |= JSON_HAS_LONE_SURROGATE;
        return at;
}

static size_t write_character(uint32_t code, char *out)
{
        if (code < 0x80) {
                out[0] = (char)code;
                return 1;
        }
        if (code < 0x800) {
                out[0] = (char)(0xC0 | code >> 6);
                out[1] = (char)(0x80 | (code & 0x3F));
                return 2;
        }
        if (code < 0x10000) {
                out[0] = (char)(0xE0 | code >> 12);
                out[1] = (char)(0x80 | (code >> 6 & 0x3F));
                out[2] = (char)(0x80 | (code & 0x3F));
                return 3;
        }
        out[0] = (char)(0xF0 | code >> 18);
        out[1] = (char)(0x80 | (code >> 12 & 0x3F));
        out[2] = (char)(0x80 | (code >> 6 & 0x3F));
        out[3] = (char)(0x80 | (code & 0x3F));
        return 4;
}

/* Writes what the escape at `at` means; returns the position behind it. */
static const unsigned char *undo_escape(const unsigned char *at, const unsigned char *end, char **out)
{
        static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
        if (at[1] != 'u') {
                const char *letter = strchr(letters, at[1]);
                if (letter)
                        *(*out)++ = meant[letter - letters];
                else
                        *(*out)++ = (char)at[1];
                return at + 2;
        }
        uint32_t code = (uint32_t)read_unit(at + 2, end);
        at += 6;
        if (is_high((int)code) && end - at >= 6 && at[0] == '\\' && at[1] == 'u' &&
            is_low(read_unit(at + 2, end))) {
                code = 0x10000 + ((code - 0xD800) << 10) + ((uint32_t)read_unit(at + 2, end) - 0xDC00);
                at += 6;
        }
        *out += write_character(code, *out);
        return at;
}

size_t json_unescape(const char *string, size_t length, char *out)
{
        const unsigned char *at = (const unsigned char *)string + 1, *end = at + length - 2;
        char *begin = out;
        while (at < end) {
                const unsigned char *escape = memchr(at, '\\', (size_t)(end - at));
                size_t plain = (size_t)((escape ? escape : end) - at);
                memcpy(out, at, plain);
                out += plain;
                at += plain;
                if (escape)
                        at = undo_escape(at, end, &out);
        }
        return (size_t)(out - begin);
}
