/* SPDX-License-Identifier: Apache-2.0
 *
 * The bounded queue before the client's stderr, for the server's bytes and hutch's own lines. It must never
 * grow, and never tear one of hutch's lines. A struct queue that is all zero is empty; pages that are not
 * needed are never touched.
 */
#ifndef HUTCH_RUN_QUEUE_H
#define HUTCH_RUN_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

enum {
        QUEUE_SIZE = 256 * 1024,
        QUEUE_OWN = 16 * 1024,    /* the end of the buffer, which only hutch's own lines may use */
        QUEUE_WAITING = 4 * 1024, /* for own lines that wait for the end of a line of the server */
};

struct queue {
        size_t start, end; /* data[start..end) is still to be written */
        size_t waiting;    /* bytes in waiting_lines */
        bool mid_line;     /* the last byte of the server was not a newline */
        bool dropping;     /* it was full; takes no bytes of the server until half of it is free */
        unsigned long long dropped_bytes; /* of the server */
        unsigned long long dropped_lines; /* of hutch */
        char waiting_lines[QUEUE_WAITING];
        char data[QUEUE_SIZE];
};

/* Where bytes of the server may be put, and how many. 0: read them elsewhere and call queue_drop(). */
size_t queue_room(struct queue *queue, char **where);
/* Adds the `length` bytes that were put there. */
void queue_put(struct queue *queue, size_t length);
/* Counts `length` bytes that were thrown away; the client is told once there is room. */
void queue_drop(struct queue *queue, size_t length);

/* Adds one of hutch's own lines, with its newline: at once, or after the unfinished line of the server. */
void queue_add_line(struct queue *queue, const char *line, size_t length);

/* Call once per turn of the loop. Reports what was dropped. When the server is `quiet`, ends its unfinished
 * line, so that hutch's own lines do not wait for ever. */
void queue_settle(struct queue *queue, bool quiet);

/* True when there is something to write, or will be once the client has taken more. */
bool queue_is_pending(const struct queue *queue);

/* What to write next; returns how many bytes, 0 for none. */
size_t queue_front(const struct queue *queue, const char **data);
/* Removes the `length` bytes that were written. */
void queue_took(struct queue *queue, size_t length);

/* Empties the queue, whose reader is gone. */
void queue_forget(struct queue *queue);

#endif
