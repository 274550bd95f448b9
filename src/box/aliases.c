/* SPDX-License-Identifier: Apache-2.0
 *
 * See aliases.h. A line of /proc/self/mountinfo (proc(5)) says which folder of which file system is mounted
 * where; so a path becomes a path in its file system, and that one the paths of all mounts that hold it.
 */
#include "box/aliases.h"

#include "lib/fd.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MOST_BYTES = 16 << 20 };

struct shown {
        const char *device; /* of the file system, as text */
        char *root;         /* what of it is mounted… */
        char *point;        /* …where */
};

static bool is_octal(char c)
{
        return c >= '0' && c <= '7';
}

/* \040 and such, in place. */
static void unescape(char *text)
{
        char *out = text;
        for (; *text; text++) {
                if (text[0] == '\\' && is_octal(text[1]) && is_octal(text[2]) && is_octal(text[3])) {
                        *out++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0');
                        text += 3;
                } else {
                        *out++ = *text;
                }
        }
        *out = 0;
}

/* "id parent device root point options…"; the texts stay in the line. */
static bool read_line(char *line, struct shown *shown)
{
        char *fields[5];
        for (size_t i = 0; i < 5; i++)
                if (!(fields[i] = strsep(&line, " ")))
                        return false;
        *shown = (struct shown){fields[2], fields[3], fields[4]};
        unescape(shown->root);
        unescape(shown->point);
        return shown->root[0] == '/' && shown->point[0] == '/';
}

/* `path`, which is below `from`, as it is below `to`. The caller frees. */
static char *move_path(const char *path, const char *from, const char *to)
{
        const char *rest = path + (from[1] ? strlen(from) : 0);
        return str_format("%s%s",
                          to[1]                ? to
                          : rest[0] && rest[1] ? ""
                                               : "/",
                          str_equal(rest, "/") ? "" : rest);
}

static void add_if_shown(const char *place, const char *real, const struct stat *wanted, bool is_part,
                         struct str_list *places)
{
        struct stat status;
        bool is_seen = !str_equal(place, real) && lstat(place, &status) == 0 &&
                       (is_part || (status.st_dev == wanted->st_dev && status.st_ino == wanted->st_ino));
        if (is_seen && !str_list_has(places, place))
                str_list_add(places, place);
}

bool aliases_find(const char *real, struct str_list *places, struct error *error)
{
        autofree char *text = NULL;
        struct stat wanted;
        ssize_t length = fd_read_file("/proc/self/mountinfo", MOST_BYTES, &text);
        if (length < 0 || lstat(real, &wanted) < 0)
                return error_set(error, EXIT_SETUP, "cannot find out where else %s is mounted: %s", real,
                                 strerror(length < 0 ? (int)-length : errno));
        struct shown *mounts = NULL;
        const struct shown *own = NULL;
        size_t count = 0;
        for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
                mounts = str_or_die(reallocarray(mounts, count + 1, sizeof(*mounts)));
                if (read_line(line, &mounts[count]))
                        count++;
        }
        /* The deepest mount above decides, the last of equals. */
        for (size_t i = 0; i < count; i++)
                if (path_is_below(real, mounts[i].point) &&
                    (!own || strlen(mounts[i].point) >= strlen(own->point)))
                        own = &mounts[i];
        autofree char *inner = own ? move_path(real, own->point, own->root) : NULL;
        for (size_t i = 0; inner && i < count; i++) {
                if (!str_equal(mounts[i].device, own->device))
                        continue;
                bool holds = path_is_below(inner, mounts[i].root);
                bool is_part = !holds && path_is_below(mounts[i].root, inner);
                autofree char *place =
                    holds ? move_path(inner, mounts[i].root, mounts[i].point) : str_copy(mounts[i].point);
                if (holds || is_part)
                        add_if_shown(place, real, &wanted, is_part, places);
        }
        free(mounts);
        return true;
}
