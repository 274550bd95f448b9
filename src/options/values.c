/* SPDX-License-Identifier: Apache-2.0
 *
 * See values.h.
 */
#include "options/values.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "limits/limits.h"

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
                                         error_shown(text));
                rest++;
        }
        autofree char *expanded = str_format("%s%s", home, rest);
        if (strlen(expanded) >= PATH_MAX)
                return error_set(error, EXIT_USAGE, "%s %s: a path has at most %d bytes, this one has %zu",
                                 option, error_shown(text), PATH_MAX - 1, strlen(expanded));
        free(*path);
        *path = expanded;
        expanded = NULL;
        return true;
}

bool value_read_count(const char *option, const char *text, unsigned most, unsigned *count,
                      struct error *error)
{
        uint64_t value;
        size_t length = str_read_digits(text, most, &value);
        if (length == 0 || text[length] || value == 0)
                return error_set(error, EXIT_USAGE, "%s %s: not a whole number of at least 1", option,
                                 error_shown(text));
        if (value > most)
                return error_set(error, EXIT_USAGE, "%s %s: the maximum is %u", option, error_shown(text),
                                 most);
        *count = (unsigned)value;
        return true;
}

bool value_read_cpus(const char *option, const char *text, unsigned *hundredths, struct error *error)
{
        enum { MOST = 8192, PLACES = 2 };
        uint64_t whole, part = 0;
        size_t places = str_read_digits(text, MOST, &whole);
        const char *next = text + places;
        if (*next == '.' && places > 0) {
                places = str_read_digits(next + 1, 99, &part);
                next += 1 + places;
                part *= places == 1 ? 10 : 1;
                places = places <= PLACES ? places : 0;
        }
        if (places == 0 || *next || whole > MOST || whole + part == 0)
                return error_set(error, EXIT_USAGE,
                                 "%s %s: write a number of processors up to %d with at most %d places, as 1 "
                                 "or 0.5",
                                 option, error_shown(text), MOST, PLACES);
        *hundredths = (unsigned)(whole * 100 + part);
        return true;
}

bool value_read_size(const char *option, const char *text, uint64_t *bytes, struct error *error)
{
        static const char units[] = "kmg";
        uint64_t value;
        const char *next = text + str_read_digits(text, SIZE_MOST, &value);
        /* 64K and 64k mean the same. */
        const char *unit = next > text && *next ? strchr(units, *next | 0x20) : NULL;
        for (size_t i = 0; unit && i <= (size_t)(unit - units) && value <= SIZE_MOST; i++)
                value *= 1024;
        if (next > text && value > SIZE_MOST)
                return error_set(error, EXIT_USAGE, "%s: the size %s is too large; the maximum is 1024g",
                                 option, error_shown(text));
        if (next == text || next[unit ? 1 : 0])
                return error_set(
                    error, EXIT_USAGE,
                    "%s: %s is not a size: write a number of bytes, or a number with k, m or g, as in 64m",
                    option, error_shown(text));
        if (value == 0)
                return error_set(error, EXIT_USAGE, "%s: a size of 0 holds nothing", option);
        *bytes = value;
        return true;
}

bool value_read_size_from(const char *option, const char *text, uint64_t least, uint64_t *bytes,
                          struct error *error)
{
        enum { MIB_SHIFT = 20 };
        uint64_t value = 0;
        if (!value_read_size(option, text, &value, error))
                return false;
        if (value < least) {
                char size[24];
                bool forgotten = !text[strspn(text, "0123456789")] && value <= SIZE_MOST >> MIB_SHIFT &&
                                 value << MIB_SHIFT >= least;
                (void)limits_write_size(forgotten ? value << MIB_SHIFT : least, size);
                autofree char *proposed = str_copy(size);
                return error_set(error, EXIT_USAGE, "%s %s: the minimum is %s; write %s %s%s", option,
                                 error_shown(text), limits_write_size(least, size), option, proposed,
                                 forgotten ? ", if that was meant" : " or more");
        }
        *bytes = value;
        return true;
}

bool value_read_require(const char *text, unsigned *required, struct error *error)
{
        for (const char *item = text;; item++) {
                size_t length = strcspn(item, ",");
                autofree char *word = str_copy_n(item, length);
                unsigned bit = 0;
                while (limits_requirements[bit] && !str_equal(word, limits_requirements[bit]))
                        bit++;
                if (!limits_requirements[bit])
                        return error_set(error, EXIT_USAGE,
                                         "--require %s: \"%s\" cannot be required; what can: landlock, "
                                         "cgroup, memory, pids, cpus",
                                         error_shown(text), error_shown(word));
                *required |= 1U << bit;
                item += length;
                if (!*item)
                        return true;
        }
}
