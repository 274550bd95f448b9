/* SPDX-License-Identifier: Apache-2.0
 *
 * See endpoint.h. What is done depends on the kind of the descriptor:
 *
 * - Sockets: recv() and send() with MSG_DONTWAIT.
 * - Pipes, fifos, terminals: a private open file description of the same object, opened with O_NONBLOCK by
 *   /proc/self/fd/N. The kernel refuses this when the object belongs to another account (a pipe made before a
 *   change of user, the terminal of an su). Then only as much is done as poll() promises: one read, or a
 *   write of a free page into a pipe or of one byte to a terminal.
 * - Anything else: plain read() and write(). Regular files and /dev/null never wait for a peer.
 *
 * poll() always gets the client's own descriptor. A private fifo would not do: when all writers were gone
 * before it was opened, the kernel does not report their hang-up on it.
 */
#include "lib/endpoint.h"
#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/major.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* Opening the multiplexer (/dev/ptmx) again would make a new terminal. */
static bool is_terminal_master(const struct stat *status)
{
        return status->st_rdev == makedev(TTYAUX_MAJOR, 2);
}

static int reopen(int fd, int access)
{
        char path[sizeof "/proc/self/fd/" + 3 * sizeof fd];

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        return open(path, access | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

void endpoint_open(struct endpoint *endpoint, int fd, int access)
{
        struct stat status;
        int flags = fcntl(fd, F_GETFL);

        *endpoint = (struct endpoint){.fd = -1, .io = -1};
        /* The direction is checked first, because a reopen could give more access than the client gave. */
        if (flags < 0 || ((flags & O_ACCMODE) != O_RDWR && (flags & O_ACCMODE) != access))
                return;
        if (fstat(fd, &status) < 0)
                return;

        endpoint->fd = fd;
        endpoint->io = fd;
        if (S_ISSOCK(status.st_mode)) {
                endpoint->is_socket = true;
        } else if (S_ISFIFO(status.st_mode) || (S_ISCHR(status.st_mode) && isatty(fd))) {
                int private = is_terminal_master(&status) ? -1 : reopen(fd, access);

                if (private >= 0)
                        endpoint->io = private;
                else
                        endpoint->burst = S_ISFIFO(status.st_mode) ? PIPE_BUF : 1;
        }
}

ssize_t endpoint_read(const struct endpoint *endpoint, void *data, size_t size)
{
        ssize_t got = endpoint->is_socket ? recv(endpoint->io, data, size, MSG_DONTWAIT)
                                          : read(endpoint->io, data, size);

        if (got >= 0)
                return got;
        return errno == EINTR ? -EAGAIN : -errno;
}

static ssize_t write_once(const struct endpoint *endpoint, const void *data, size_t length)
{
        ssize_t put = endpoint->is_socket ? send(endpoint->io, data, length, MSG_DONTWAIT | MSG_NOSIGNAL)
                                          : write(endpoint->io, data, length);

        if (put >= 0)
                return put;
        return errno == EINTR ? -EAGAIN : -errno;
}

ssize_t endpoint_write(const struct endpoint *endpoint, const void *data, size_t length)
{
        size_t written = 0;

        if (endpoint->burst == 0)
                return write_once(endpoint, data, length);

        while (written < length) {
                struct pollfd ready = {.fd = endpoint->fd, .events = POLLOUT};
                size_t piece = length - written < endpoint->burst ? length - written : endpoint->burst;
                ssize_t put = -EAGAIN;

                if (poll(&ready, 1, 0) > 0)
                        put = write_once(endpoint, (const char *)data + written, piece);
                if (put < 0)
                        return written > 0 ? (ssize_t)written : put;
                written += (size_t)put;
        }
        return (ssize_t)written;
}

void endpoint_close(struct endpoint *endpoint)
{
        if (endpoint->io != endpoint->fd)
                fd_close(&endpoint->io);
        endpoint->fd = endpoint->io = -1;
}
