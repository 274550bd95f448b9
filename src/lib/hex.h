/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes as hexadecimal digits.
 */
#ifndef HUTCH_LIB_HEX_H
#define HUTCH_LIB_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEX_DIGITS "0123456789abcdef"

/* Writes 2 * length lower-case digits, without a NUL. */
static inline void hex_write(char *out, const void *bytes, size_t length)
{
        for (size_t i = 0; i < length; i++) {
                out[2 * i] = HEX_DIGITS[((const uint8_t *)bytes)[i] >> 4];
                out[2 * i + 1] = HEX_DIGITS[((const uint8_t *)bytes)[i] & 15];
        }
}

/* The value of a digit of either case, or -1. */
static inline int hex_value(char c)
{
        if (c >= '0' && c <= '9')
                return c - '0';
        c |= 0x20;
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads 2 * length digits. False when one of the characters is not a digit; a NUL is none. */
static inline bool hex_read(const char *text, uint8_t *bytes, size_t length)
{
        for (size_t i = 0; i < length; i++) {
                int high = hex_value(text[2 * i]), low = high < 0 ? -1 : hex_value(text[2 * i + 1]);
                if (low < 0)
                        return false;
                bytes[i] = (uint8_t)(high << 4 | low);
        }
        return true;
}

#endif
