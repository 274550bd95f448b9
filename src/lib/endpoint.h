/* SPDX-License-Identifier: Apache-2.0
 *
 * One of the client's descriptors 0, 1, 2, used without ever blocking and without ever changing it: the
 * client (and others) share its open file description, so O_NONBLOCK or a shutdown would reach them.
 */
#ifndef HUTCH_LIB_ENDPOINT_H
#define HUTCH_LIB_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct endpoint {
        int fd;         /* the client's own: what to poll. -1: closed, or not open in this direction */
        int io;         /* what to read or write: a private reopen that does not block, or fd itself */
        bool is_socket; /* asks per call not to block */
        size_t burst;   /* not 0: it may block, so this is the most that POLLOUT promises to take */
};

/* `access`: O_RDONLY or O_WRONLY. Cannot fail: what is unusable has fd -1. */
void endpoint_open(struct endpoint *endpoint, int fd, int access);

/* Call it after poll() reported something on `fd`. Bytes read, 0 at the end, or a negative errno; -EAGAIN:
 * try again after the next poll(). */
ssize_t endpoint_read(const struct endpoint *endpoint, void *data, size_t size);

/* May be called at any time. Bytes taken (fewer than `length` when the client is not ready for more), or a
 * negative errno; -EAGAIN: none now. */
ssize_t endpoint_write(const struct endpoint *endpoint, const void *data, size_t length);

/* Closes what is private and leaves the client's descriptor as it is. */
void endpoint_close(struct endpoint *endpoint);

#endif
