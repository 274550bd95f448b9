/* SPDX-License-Identifier: Apache-2.0
 *
 * See fd.h.
 */
#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
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

int fd_write_file(int directory, const char *path, const char *text)
{
        autoclose int file = openat(directory, path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
        return file < 0 ? -errno : fd_write_all(file, text, strlen(text));
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
        /* O_NONBLOCK: opening a fifo without a writer would block forever */
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

int fd_memory_file(const char *name, const void *data, size_t length)
{
        autoclose int made = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (made < 0)
                return -errno;
        int error = fd_write_all(made, data, length);
        if (error < 0)
                return error;
        if (fcntl(made, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
                return -errno;
        return fd_take(&made);
}

bool fd_pipe(int *reader, int *writer, const int *ours)
{
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
                return false;
        *reader = ends[0];
        *writer = ends[1];
        return !ours || fcntl(*ours, F_SETFL, O_NONBLOCK) == 0;
}

bool fd_socket_pair(int *one, int *other, int flags)
{
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0, ends) < 0)
                return false;
        *one = ends[0];
        *other = ends[1];
        return true;
}

int fd_send(int socket, const void *message, size_t length, int descriptor)
{
        struct iovec part = {.iov_base = (void *)message, .iov_len = length};
        union {
                struct cmsghdr align;
                char bytes[CMSG_SPACE(sizeof(int))];
        } control = {0};
        struct msghdr head = {.msg_iov = &part, .msg_iovlen = 1};
        if (descriptor >= 0) {
                head.msg_control = control.bytes;
                head.msg_controllen = sizeof(control.bytes);
                struct cmsghdr *rights = CMSG_FIRSTHDR(&head);
                rights->cmsg_level = SOL_SOCKET;
                rights->cmsg_type = SCM_RIGHTS;
                rights->cmsg_len = CMSG_LEN(sizeof(int));
                memcpy(CMSG_DATA(rights), &descriptor, sizeof(int));
        }
        ssize_t sent = sendmsg(socket, &head, MSG_NOSIGNAL);
        if (sent < 0)
                return -errno;
        return (size_t)sent == length ? 0 : -EMSGSIZE;
}
