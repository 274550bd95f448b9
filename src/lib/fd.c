/* SPDX-License-Identifier: Apache-2.0
 *
 * See fd.h.
 */
#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>

int fd_write_all(int fd, const void *data, size_t length)
{
        const char *next = data;
        while (length > 0) {
                ssize_t written = write(fd, next, length);
                if (written < 0 && errno == EINTR)
                        continue;
                if (written < 0)
                        return -errno;
                next += written;
                length -= (size_t)written;
        }
        return 0;
}

ssize_t fd_read_all(int fd, size_t limit, char **data)
{
        struct stat status;
        size_t capacity = 4096, used = 0;
        if (fstat(fd, &status) == 0 && status.st_size > 0 && (uintmax_t)status.st_size < limit)
                capacity = (size_t)status.st_size + 2;
        autofree char *buffer = malloc(capacity);
        if (!buffer)
                return -ENOMEM;

        for (;;) {
                if (used + 1 >= capacity) {
                        capacity *= 2;
                        char *grown = realloc(buffer, capacity);
                        if (!grown)
                                return -ENOMEM;
                        buffer = grown;
                }
                ssize_t got = read(fd, buffer + used, capacity - used - 1);
                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return -errno;
                if (got == 0)
                        break;
                used += (size_t)got;
                if (used > limit)
                        return -EFBIG;
        }
        buffer[used] = 0;
        *data = buffer;
        buffer = NULL;
        return (ssize_t)used;
}

ssize_t fd_read_file(const char *path, size_t limit, char **data)
{
        /* O_NONBLOCK: opening a fifo that nobody writes must not wait for ever. */
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        struct stat status;
        if (fd < 0)
                return -errno;
        if (fstat(fd, &status) < 0)
                return -errno;
        if (S_ISDIR(status.st_mode))
                return -EISDIR;
        if (!S_ISREG(status.st_mode))
                return -EINVAL;
        return fd_read_all(fd, limit, data);
}
