/* SPDX-License-Identifier: Apache-2.0
 *
 * A growing buffer of bytes.
 */
#ifndef HUTCH_LIB_BUF_H
#define HUTCH_LIB_BUF_H

#include <stddef.h>

/* Initialize with zeros; free with buf_free(), or free `bytes`. */
struct buf {
        char *bytes; /* NULL until something is put */
        size_t length, capacity;
        size_t sent; /* bytes at the front that are written already */
};

void buf_put(struct buf *buf, const void *bytes, size_t length);
void buf_put_text(struct buf *buf, const char *text);
void buf_format(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The content as a string, never NULL; the caller frees. The buffer is empty afterwards. */
char *buf_take(struct buf *buf);

/* Removes the content, and frees a large allocation. */
void buf_clear(struct buf *buf);

void buf_free(struct buf *buf);
/* Releases at the end of the scope. */
#define autobuf __attribute__((cleanup(buf_free))) struct buf

#endif
