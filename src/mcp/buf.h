/* SPDX-License-Identifier: Apache-2.0
 *
 * A growing buffer of bytes: the lines that the filter writes itself, records of the log, canonical forms.
 */
#ifndef HUTCH_MCP_BUF_H
#define HUTCH_MCP_BUF_H

#include <stddef.h>

/* Initialize with zeros; free `bytes`. */
struct buf {
        char *bytes;
        size_t length, capacity;
        size_t sent; /* bytes at the front that are written already */
};

void buf_put(struct buf *buf, const void *bytes, size_t length);
void buf_put_text(struct buf *buf, const char *text);

/* Appends text as it appears between the quotes of a JSON string: escapes what JSON requires, and replaces
 * invalid UTF-8 with U+FFFD. A text longer than `limit` bytes is cut there, and ends with an ellipsis. */
void buf_put_escaped(struct buf *buf, const char *text, size_t length, size_t limit);

/* Removes the content, and frees a large allocation. */
void buf_clear(struct buf *buf);

#endif
