/* SPDX-License-Identifier: Apache-2.0
 *
 * A growing text: lines that the filter itself writes to one of its sides, records, canonical forms.
 */
#ifndef HUTCH_MCP_OUTBOX_H
#define HUTCH_MCP_OUTBOX_H

#include <stddef.h>

/* Zero it to begin; free `bytes`. */
struct outbox {
        char *bytes;
        size_t length, room;
        size_t sent; /* of its bytes, in front */
};

void outbox_put(struct outbox *box, const void *bytes, size_t length);
void outbox_put_text(struct outbox *box, const char *text);

/* Text as the inside of a JSON string: what must be escaped is, and what is not UTF-8 becomes U+FFFD. Of a
 * text longer than `limit` bytes, the beginning and an ellipsis. */
void outbox_put_escaped(struct outbox *box, const char *text, size_t length, size_t limit);

/* Forgets what it holds; a large room is given back. */
void outbox_clear(struct outbox *box);

#endif
