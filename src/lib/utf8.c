/* SPDX-License-Identifier: Apache-2.0
 *
 * See utf8.h.
 */
#include "lib/utf8.h"

#include <stdbool.h>

size_t utf8_measure(const unsigned char *at, const unsigned char *end)
{
        size_t left = (size_t)(end - at);
        unsigned char first = at[0];
        if (first < 0x80)
                return 1;
        if (left < 2 || (at[1] & 0xC0) != 0x80)
                return 0;
        if (first < 0xE0)
                return first >= 0xC2 ? 2 : 0;
        if (left < 3 || (at[2] & 0xC0) != 0x80)
                return 0;
        if (first < 0xF0) {
                bool too_long = first == 0xE0 && at[1] < 0xA0, surrogate = first == 0xED && at[1] > 0x9F;
                return too_long || surrogate ? 0 : 3;
        }
        if (left < 4 || (at[3] & 0xC0) != 0x80)
                return 0;
        bool too_long =
            first == 0xF0 && at[1]<0x90, too_high = first> 0xF4 || (first == 0xF4 && at[1] > 0x8F);
        return too_long || too_high ? 0 : 4;
}

uint32_t utf8_decode(const unsigned char *at, size_t length)
{
        uint32_t code = length == 1 ? at[0] : at[0] & (0x7FU >> length);
        for (size_t i = 1; i < length; i++)
                code = code << 6 | (at[i] & 0x3FU);
        return code;
}
