/* SPDX-License-Identifier: Apache-2.0
 *
 * See target.h.
 */
#include "prove/target.h"

#include "lib/fd.h"
#include "lib/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { DECOY_BYTES = 4096 };

static struct {
        bool inside;
        char lines[16384]; /* the description, each line with a NUL at its end */
        size_t length;
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
        ssize_t got;
        while (target.length < sizeof(target.lines) - 1 &&
               (got = read(input, target.lines + target.length, sizeof(target.lines) - 1 - target.length)) >
                   0) {
                target.length += (size_t)got;
                if (target.length >= 2 && memcmp(target.lines + target.length - 2, "\n\n", 2) == 0)
                        break;
        }
        for (char *end = target.lines; (end = strchr(end, '\n')); end++)
                *end = 0;
}

const char *target_text(const char *key)
{
        const char *value = NULL;
        for (const char *line = target.lines; !value && line < target.lines + target.length;
             line += strlen(line) + 1)
                value = str_after_word(line, key);
        return value ? value : "";
}

long target_number(const char *key)
{
        return strtol(target_text(key), NULL, 0);
}

const char *target_path(const char *relative)
{
        static char paths[8][PATH_MAX];
        static unsigned next;
        if (relative[0] == '/')
                return relative;
        char *path = paths[next++ % 8];
        (void)snprintf(path, PATH_MAX, "%s/%s", target_text("base"), relative);
        return path;
}

bool target_has_marker(const void *data, size_t length)
{
        const char *marker = target_text("marker");
        return marker[0] && memmem(data, length, marker, strlen(marker));
}

enum outcome target_open(const char *path, int flags)
{
        autoclose int fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
        struct stat status = {0};
        target_note_path(path);
        if (fd >= 0 && fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3))
                return HELD; /* the file is masked with /dev/null */
        return out_if(fd >= 0);
}

bool target_write(const char *path, const char *text)
{
        autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);
        return fd >= 0 && fd_write_all(fd, text, strlen(text)) == 0;
}

enum outcome target_read_at(int fd, off_t offset)
{
        char data[DECOY_BYTES];
        ssize_t length = fd < 0 ? -1 : pread(fd, data, sizeof(data), offset);
        return out_if(length > 0 && target_has_marker(data, (size_t)length));
}

enum outcome target_read_marker(int directory, const char *path)
{
        autoclose int fd = openat(directory, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (target_read_at(fd, 0) == HELD)
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
