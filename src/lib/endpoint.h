/* SPDX-License-Identifier: Apache-2.0
 *
 * One of the client's descriptors 0, 1, 2. Reads and writes must never block, and must never change the
 * descriptor: the client shares its open file description, so O_NONBLOCK or a shutdown() would reach the
 * client.
 */
#ifndef HUTCH_LIB_ENDPOINT_H
#define HUTCH_LIB_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct endpoint {
        int fd;         /* the client's descriptor, for poll(); -1: closed, or not open in this direction */
        int io;         /* for read and write: a private description that does not block, or fd itself */
        bool is_socket; /* use MSG_DONTWAIT */
        size_t burst;   /* not 0: it may block, and POLLOUT promises room for this many bytes only */
};

/* `access` is O_RDONLY or O_WRONLY. A descriptor that cannot be used gets fd -1. */
void endpoint_open(struct endpoint *endpoint, int fd, int access);

/* Call when poll() reported something on `fd`. Returns bytes read, 0 at the end of file, or a negative errno;
 * -EAGAIN: nothing after all. */
ssize_t endpoint_read(const struct endpoint *endpoint, void *data, size_t size);

/* May be called at any time. Returns the bytes taken, which can be fewer than `length`, or a negative errno;
 * -EAGAIN: none now. */
ssize_t endpoint_write(const struct endpoint *endpoint, const void *data, size_t length);

/* Closes the private description and leaves the client's descriptor open. */
void endpoint_close(struct endpoint *endpoint);

#endif
