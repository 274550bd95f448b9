/* SPDX-License-Identifier: Apache-2.0
 *
 * See values.h.
 */
#include "cli/values.h"

#include "lib/fd.h"
#include "lib/name.h"
#include "lib/str.h"

#include <limits.h>
#include <stdlib.h>

/* More than any machine has: a slip of the hand. */
#define SIZE_MOST (1ULL << 40)

bool value_expand_path(const char *option, const char *text, char **path, struct error *error)
{
        const char *home = "";
        const char *rest = text;
        if (text[0] == '~' && (text[1] == '/' || text[1] == 0)) {
                home = getenv("HOME");
                if (!home || home[0] != '/')
                        return error_set(error, EXIT_USAGE,
                                         "%s %s: ~ cannot be expanded, HOME is not set to a path", option,
                                         name_shown(text));
                rest++;
        }
        autofree char *expanded = str_format("%s%s", home, rest);
        if (strlen(expanded) >= PATH_MAX)
                return error_set(error, EXIT_USAGE, "%s %s: a path has at most %d bytes, this one has %zu",
                                 option, name_shown(text), PATH_MAX - 1, strlen(expanded));
        free(*path);
        *path = expanded;
        expanded = NULL;
        return true;
}

bool value_read_size(const char *option, const char *text, uint64_t *bytes, struct error *error)
{
        static const char units[] = "kmg";
        uint64_t value = 0;
        const char *next = text;
        for (; *next >= '0' && *next <= '9' && value <= SIZE_MOST; next++)
                value = value * 10 + (uint64_t)(*next - '0');
        /* 64K and 64k are the same to people. */
        const char *unit = next > text && *next ? strchr(units, *next | 0x20) : NULL;
        for (size_t i = 0; unit && i <= (size_t)(unit - units) && value <= SIZE_MOST; i++)
                value *= 1024;
        if (next > text && value > SIZE_MOST)
                return error_set(error, EXIT_USAGE, "%s: the size %s is too large; the most is 1024g", option,
                                 name_shown(text));
        if (next == text || next[unit ? 1 : 0])
                return error_set(error, EXIT_USAGE,
                                 "%s: %s is not a size: write a number of bytes, or one with k, m or g "
                                 "behind it, as in 64m",
                                 option, name_shown(text));
        if (value == 0)
                return error_set(error, EXIT_USAGE, "%s: a size of 0 holds nothing", option);
        *bytes = value;
        return true;
}
