/* SPDX-License-Identifier: Apache-2.0
 *
 * A growing text: lines that the filter itself writes to one of its sides, records, canonical forms.
 */
#ifndef HUTCH_MCP_BUF_H
#define HUTCH_MCP_BUF_H

#include <stddef.h>

/* Zero it to begin; free `bytes`. */
struct buf {
        char *bytes;
        size_t length, capacity;
        size_t sent; /* of its bytes, in front */
};

void buf_put(struct buf *buf, const void *bytes, size_t length);
void buf_put_text(struct buf *buf, const char *text);

/* Text as the inside of a JSON string: what must be escaped is, and what is not UTF-8 becomes U+FFFD. Of a
 * text longer than `limit` bytes, the beginning and an ellipsis. */
void buf_put_escaped(struct buf *buf, const char *text, size_t length, size_t limit);

/* Forgets what it holds; a large capacity is given back. */
void buf_clear(struct buf *buf);

#endif
