/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors and memory that are released at the end of their scope, and reads and writes that finish. No
 * function prints or decides anything; each returns a negative errno on failure.
 */
#ifndef HUTCH_LIB_FD_H
#define HUTCH_LIB_FD_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static inline void fd_autoclose(int *fd)
{
        if (*fd >= 0)
                close(*fd);
}

static inline void fd_autofree(void *pointer)
{
        free(*(void **)pointer);
}

static inline void fd_autoclosedir(DIR **directory)
{
        if (*directory)
                closedir(*directory);
}

/* Closes the descriptor when its variable goes out of scope, unless it is -1. */
#define autoclose __attribute__((cleanup(fd_autoclose)))
/* The same for a directory stream, unless it is NULL. */
#define autoclosedir __attribute__((cleanup(fd_autoclosedir)))
/* Frees memory of malloc() when its variable goes out of scope. */
#define autofree __attribute__((cleanup(fd_autofree)))

/* Moves a descriptor out of an autoclose variable. */
static inline int fd_take(int *fd)
{
        int taken = *fd;
        *fd = -1;
        return taken;
}

/* Closes *fd if it is open, and sets it to -1. */
static inline void fd_close(int *fd)
{
        fd_autoclose(fd);
        *fd = -1;
}

/* Writes all bytes to a blocking descriptor. Returns 0, or a negative errno. */
int fd_write_all(int fd, const void *data, size_t length);

/* Writes `text` to the existing file `path` below the descriptor `directory`. Follows no link at its last
 * component. Returns 0, or a negative errno. */
int fd_write_file(int directory, const char *path, const char *text);

/* Reads a whole file of at most `limit` bytes into new memory, and adds a NUL that the length does not count.
 * The caller frees *data. Returns the bytes read, or a negative errno (-EFBIG if there are more). */
ssize_t fd_read_all(int fd, size_t limit, char **data);

/* The same by path. Accepts regular files only (-EINVAL; -EISDIR for a directory), and never blocks on a
 * fifo. */
ssize_t fd_read_file(const char *path, size_t limit, char **data);

/* Makes a memfd with this content, sealed so that nobody can change it. Returns a descriptor, or a negative
 * errno. */
int fd_memory_file(const char *name, const void *data, size_t length);

/* Makes a pipe whose ends are close-on-exec. The end *ours (one of the two, or NULL) does not block. False
 * with errno. */
bool fd_pipe(int *reader, int *writer, const int *ours);

/* Makes two connected SOCK_SEQPACKET sockets, which are close-on-exec. `flags`: 0 or SOCK_NONBLOCK. False
 * with errno. */
bool fd_socket_pair(int *one, int *other, int flags);

/* Sends one message through a unix socket, with a copy of `descriptor` unless it is -1. Returns 0, or a
 * negative errno. */
int fd_send(int socket, const void *message, size_t length, int descriptor);

#endif
