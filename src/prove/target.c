/* SPDX-License-Identifier: Apache-2.0
 *
 * See target.h.
 */
#include "prove/target.h"

#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { KEYS_MOST = 64, DECOY_BYTES = 4096 };

static struct {
        bool inside;
        char lines[16384]; /* the description, as it was read; the two below point into it */
        const char *keys[KEYS_MOST], *values[KEYS_MOST];
        size_t count;
        char noted[512]; /* cut when longer */
} target;

void target_set_inside(bool inside)
{
        target.inside = inside;
}

bool target_is_inside(void)
{
        return target.inside;
}

void target_read(int input)
{
        size_t length = 0;
        ssize_t got;
        while (length < sizeof(target.lines) - 1 &&
               (got = read(input, target.lines + length, sizeof(target.lines) - 1 - length)) > 0) {
                length += (size_t)got;
                if (length >= 2 && memcmp(target.lines + length - 2, "\n\n", 2) == 0)
                        break;
        }
        char *rest = target.lines;
        for (char *line; (line = strsep(&rest, "\n")) && target.count < KEYS_MOST;) {
                char *space = strchr(line, ' ');
                if (!space)
                        continue;
                *space = 0;
                target.keys[target.count] = line;
                target.values[target.count++] = space + 1;
        }
}

const char *target_text(const char *key)
{
        for (size_t i = 0; i < target.count; i++)
                if (strcmp(target.keys[i], key) == 0)
                        return target.values[i];
        return "";
}

long target_number(const char *key)
{
        return strtol(target_text(key), NULL, 0);
}

const char *target_path(const char *relative)
{
        static char paths[8][PATH_MAX];
        static unsigned next;
        char *path = paths[next++ % 8];
        (void)snprintf(path, PATH_MAX, "%s/%s", target_text("base"), relative);
        return path;
}

bool target_has_marker(const void *data, size_t length)
{
        const char *marker = target_text("marker");
        return marker[0] && memmem(data, length, marker, strlen(marker));
}

enum outcome target_read_marker(int directory, const char *path)
{
        char data[DECOY_BYTES];
        autoclose int fd = openat(directory, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
                return HELD;
        ssize_t length = read(fd, data, sizeof(data));
        if (length <= 0 || !target_has_marker(data, (size_t)length))
                return HELD;
        target_note_path(path);
        return GOT_OUT;
}

void target_note_path(const char *path)
{
        memccpy(target.noted, path, 0, sizeof(target.noted) - 1);
}

const char *target_noted_path(void)
{
        return target.noted;
}

enum outcome out_if_reached(long result)
{
        return out_if(result >= 0 || (errno != EPERM && errno != ENOSYS && errno != EACCES));
}
