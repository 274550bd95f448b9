/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors and memory that clean up after themselves, and reads and writes that finish. Nothing here
 * prints or decides; every function returns a negative errno on failure.
 */
#ifndef HUTCH_LIB_FD_H
#define HUTCH_LIB_FD_H

#include <dirent.h>
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

/* A descriptor that is closed when its variable goes out of scope; -1 means none. */
#define autoclose __attribute__((cleanup(fd_autoclose)))
/* The same for a directory that is read; NULL means none. */
#define autoclosedir __attribute__((cleanup(fd_autoclosedir)))
/* Memory of malloc() that is freed when its variable goes out of scope. */
#define autofree __attribute__((cleanup(fd_autofree)))

/* Hands a descriptor out of an autoclose variable. */
static inline int fd_take(int *fd)
{
        int taken = *fd;
        *fd = -1;
        return taken;
}

/* Closes *fd if it is open and marks it closed. */
static inline void fd_close(int *fd)
{
        fd_autoclose(fd);
        *fd = -1;
}

/* Writes all of it (blocking descriptors). 0, or a negative errno. */
int fd_write_all(int fd, const void *data, size_t length);

/* Reads a whole file of at most `limit` bytes into fresh memory, with a NUL behind it that does not count.
 * The caller frees *data. Bytes read, or a negative errno (-EFBIG when there is more). */
ssize_t fd_read_all(int fd, size_t limit, char **data);

/* The same by path: refuses what is no regular file
 * (-EINVAL; -EISDIR for a directory) without blocking on a fifo. */
ssize_t fd_read_file(const char *path, size_t limit, char **data);

/* A memory file with this content, which nobody can change any more. A descriptor, or a negative errno. */
int fd_memory_file(const char *name, const void *data, size_t length);

/* Sends one message through a unix socket, with a copy of `descriptor` where it is not -1. 0, or a negative
 * errno.
 */
int fd_send(int socket, const void *message, size_t length, int descriptor);

#endif
