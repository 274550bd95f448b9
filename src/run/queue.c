/* SPDX-License-Identifier: Apache-2.0
 *
 * See queue.h.
 *
 * Theory of operation. One linear buffer is filled at its end and emptied at its start. It begins at offset 0
 * again whenever it is empty, so that little traffic touches little memory. At the end of the buffer the rest
 * is moved down only when it is at most half of the buffer, so each byte is moved at most once. Otherwise the
 * queue drops the server's bytes until half of it is free, which also keeps the message about dropped bytes
 * rare.
 *
 * hutch's own lines must not split a line of the server. While the server is in the middle of a line, they
 * wait, and go in after the last newline of what it writes next. When the server pauses there (a prompt, a
 * progress bar), the queue ends its line.
 */
#include "run/queue.h"

#include <stdio.h>
#include <string.h>

/* Tries to have `wanted` free bytes at the end of the buffer. Returns how many there are. */
static size_t make_room(struct queue *queue, size_t wanted)
{
        size_t pending = queue->end - queue->start;

        if (QUEUE_SIZE - queue->end < wanted && pending <= QUEUE_SIZE / 2) {
                memmove(queue->data, queue->data + queue->start, pending);
                queue->start = 0;
                queue->end = pending;
        }
        return QUEUE_SIZE - queue->end;
}

/* Puts whole lines at `at`, before the unfinished line of the server that may be there. */
static bool insert(struct queue *queue, size_t at, const char *lines, size_t length)
{
        if (QUEUE_SIZE - queue->end < length)
                return false;
        memmove(queue->data + at + length, queue->data + at, queue->end - at);
        memcpy(queue->data + at, lines, length);
        queue->end += length;
        return true;
}

/* Appends hutch's own lines, after ending an unfinished line of the server. */
static bool append(struct queue *queue, const char *lines, size_t length)
{
        if (make_room(queue, length + 1) < length + 1)
                return false;
        if (queue->mid_line)
                queue->data[queue->end++] = '\n';
        queue->mid_line = false;
        return insert(queue, queue->end, lines, length);
}

static void count_lost_lines(struct queue *queue, const char *lines, size_t length)
{
        for (size_t i = 0; i < length; i++)
                queue->dropped_lines += lines[i] == '\n';
        queue->dropping = true;
}

static void release_waiting(struct queue *queue)
{
        if (!append(queue, queue->waiting_lines, queue->waiting))
                count_lost_lines(queue, queue->waiting_lines, queue->waiting);
        queue->waiting = 0;
}

size_t queue_room(struct queue *queue, char **where)
{
        size_t room = queue->dropping ? 0 : make_room(queue, (size_t)2 * QUEUE_OWN);

        if (room <= QUEUE_OWN)
                return 0;
        *where = queue->data + queue->end;
        return room - QUEUE_OWN;
}

void queue_put(struct queue *queue, size_t length)
{
        const char *added = queue->data + queue->end;
        const char *newline = memrchr(added, '\n', length);

        queue->end += length;
        queue->mid_line = queue->data[queue->end - 1] != '\n';
        if (newline && queue->waiting > 0 &&
            insert(queue, (size_t)(newline - queue->data) + 1, queue->waiting_lines, queue->waiting))
                queue->waiting = 0;
}

void queue_drop(struct queue *queue, size_t length)
{
        queue->dropped_bytes += length;
        queue->dropping = true;
}

void queue_add_line(struct queue *queue, const char *line, size_t length)
{
        if (queue->mid_line && length <= sizeof queue->waiting_lines - queue->waiting) {
                memcpy(queue->waiting_lines + queue->waiting, line, length);
                queue->waiting += length;
                return;
        }
        if (queue->waiting > 0)
                release_waiting(queue);
        if (!append(queue, line, length))
                count_lost_lines(queue, line, length);
}

static void report_dropped(struct queue *queue, unsigned long long *count, const char *what)
{
        char line[128];

        if (*count > 0) {
                snprintf(line, sizeof line, "[hutch] %llu %s were dropped\n", *count, what);
                append(queue, line, strlen(line));
        }
        *count = 0;
}

void queue_settle(struct queue *queue, bool quiet)
{
        /* The end of the server's line may be among what was dropped. */
        if (queue->waiting > 0 && (quiet || queue->dropping || !queue->mid_line))
                release_waiting(queue);
        if (!queue->dropping || queue->end - queue->start > QUEUE_SIZE / 2)
                return;

        queue->dropping = false;
        report_dropped(queue, &queue->dropped_bytes, "bytes of the server's stderr");
        report_dropped(queue, &queue->dropped_lines, "lines of hutch");
}

bool queue_is_pending(const struct queue *queue)
{
        return queue->end > queue->start || queue->waiting > 0 || queue->dropping;
}

size_t queue_front(const struct queue *queue, const char **data)
{
        *data = queue->data + queue->start;
        return queue->end - queue->start;
}

void queue_took(struct queue *queue, size_t length)
{
        queue->start += length;
        if (queue->start == queue->end)
                queue->start = queue->end = 0;
}

void queue_forget(struct queue *queue)
{
        queue->start = queue->end = queue->waiting = 0;
        queue->mid_line = queue->dropping = false;
}
