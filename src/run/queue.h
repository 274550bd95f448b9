/* SPDX-License-Identifier: Apache-2.0
 *
 * The bounded queue in front of the client's stderr: the server's bytes and hutch's own lines. Memory only;
 * it must never grow, and never let one of hutch's lines be torn. Zero a struct queue to begin; memory that
 * is not needed is not touched.
 */
#ifndef HUTCH_RUN_QUEUE_H
#define HUTCH_RUN_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

enum {
        QUEUE_SIZE = 256 * 1024,
        QUEUE_OWN = 16 * 1024,    /* the last part of it is left to hutch's own lines */
        QUEUE_WAITING = 4 * 1024, /* own lines that wait for the end of a line of the server's */
};

struct queue {
        size_t start, end; /* data[start..end) is to be written */
        size_t waiting;    /* bytes in waiting_lines */
        bool mid_line;     /* what was queued last is the beginning of a line of the server's */
        bool dropping;     /* it was full: the server's bytes are not taken until half of it is free */
        unsigned long long dropped_bytes; /* the server's */
        unsigned long long dropped_lines; /* hutch's own */
        char waiting_lines[QUEUE_WAITING];
        char data[QUEUE_SIZE];
};

/* Where bytes of the server may be put, and how many; 0: read them elsewhere and call queue_drop. */
size_t queue_room(struct queue *queue, char **where);
/* `length` bytes were put there. */
void queue_put(struct queue *queue, size_t length);
/* `length` bytes were thrown away: the client is told once there is room. */
void queue_drop(struct queue *queue, size_t length);

/* Adds one line of hutch's own, with its newline: at once, or after the line that the server is in the middle
 * of. */
void queue_add_line(struct queue *queue, const char *line, size_t length);

/* Once per round: tells what was dropped, and, when the server is `quiet` in the middle of a line, ends that
 * line so that hutch's own need not wait for ever. */
void queue_settle(struct queue *queue, bool quiet);

/* There is, or once the client has taken more there will be, something to write. */
bool queue_is_pending(const struct queue *queue);

/* What to write next, and how many bytes (0: nothing). */
size_t queue_front(const struct queue *queue, const char **data);
/* `length` of them were written. */
void queue_took(struct queue *queue, size_t length);

/* Forgets everything: nobody will ever read it. */
void queue_forget(struct queue *queue);

#endif
