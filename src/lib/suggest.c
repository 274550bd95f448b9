/* SPDX-License-Identifier: Apache-2.0
 *
 * See suggest.h.
 */
#include "lib/suggest.h"

#include "lib/str.h"

#include <stdint.h>

/* True if `name` is `text` with its two halves exchanged at a hyphen: allow-network, network-allow. */
static bool is_turned(const char *text, const char *name)
{
        size_t length = strlen(text);
        if (strlen(name) != length)
                return false;
        for (const char *hyphen = strchr(text, '-'); hyphen; hyphen = strchr(hyphen + 1, '-')) {
                size_t front = (size_t)(hyphen - text), back = length - front - 1;
                if (memcmp(name, hyphen + 1, back) == 0 && name[back] == '-' &&
                    memcmp(name + back + 1, text, front) == 0)
                        return true;
        }
        return false;
}

const char *suggest_nearest(const char *text, const char *const *names)
{
        const char *nearest = NULL;
        size_t least = SIZE_MAX;
        for (; *names; names++) {
                size_t distance = str_distance(text, *names);
                /* A beginning of a name (`--ver`) means that name, whatever the distance. */
                if (strlen(text) > 1 && str_starts(*names, text))
                        distance = 1;
                if (is_turned(text, *names))
                        distance = 0;
                if (distance < least) {
                        least = distance;
                        nearest = *names;
                }
        }
        /* Up to a third of the letters wrong is a slip; more is another word. */
        return least <= 1 + strlen(text) / 3 && least < strlen(text) ? nearest : NULL;
}
