/* SPDX-License-Identifier: Apache-2.0
 *
 * See direction.h.
 *
 * Theory of operation. New bytes are appended to the buffer. Each line is judged in place, and what passes of
 * it moves to the front of the buffer, so that many short lines are one write. Nothing more is read until all
 * of that is written: a side that does not read stops the side that writes. The filter's own lines are
 * written between whole lines only.
 */
#include "mcp/direction.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "mcp/report.h"

#include <errno.h>

enum { ANSWERS_MAX = 256 * 1024, ROOM_KEPT = 1 << 20 };

void direction_begin(struct direction *direction, struct firewall *firewall, enum side from,
                     struct endpoint in, struct endpoint out)
{
        *direction = (struct direction){
            .firewall = firewall, .from = from, .in = in, .out = out, .room = DIRECTION_ROOM};
        direction->bytes = str_or_die(malloc(direction->room));
}

/* The filter's own lines for the side that this direction writes to. */
static struct buf *answers(const struct direction *direction)
{
        return &direction->firewall->answers[direction->from == CLIENT ? SERVER : CLIENT];
}

/* Whether there is something to write, the filter's own lines included. */
static bool wants_to_write(const struct direction *direction)
{
        return direction->out.fd >= 0 &&
               (direction->passed < direction->passing || answers(direction)->length > 0);
}

/* Whether more bytes may be read: only when everything that passed is written, and few of the filter's own
 * lines wait. */
static bool can_read(const struct direction *direction)
{
        const struct buf *both = direction->firewall->answers;
        return direction->passed == direction->passing && both[CLIENT].length < ANSWERS_MAX &&
               both[SERVER].length < ANSWERS_MAX;
}

void direction_poll(const struct direction *direction, struct pollfd polls[DIRECTION_POLLS])
{
        bool reads = can_read(direction);
        /* Once the hang-up is known, poll() would report it forever. */
        polls[0] = (struct pollfd){.fd = reads || !direction->hung_up ? direction->in.fd : -1,
                                   .events = reads ? POLLIN : POLLRDHUP};
        /* Polled without an event too: an error is how the filter learns that the reader has closed. */
        polls[1] =
            (struct pollfd){.fd = direction->out.fd, .events = wants_to_write(direction) ? POLLOUT : 0};
}

/* ---- judging ---- */

/* Judges bytes[line..end). An LF follows it, or the buffer has room for one. */
static void judge_line(struct direction *direction, size_t end)
{
        size_t length = firewall_judge(direction->firewall, direction->from,
                                       direction->bytes + direction->line, end - direction->line);
        if (length == 0)
                return;
        if (direction->passing != direction->line)
                memmove(direction->bytes + direction->passing, direction->bytes + direction->line, length);
        direction->passing += length;
        direction->bytes[direction->passing++] = '\n';
}

static void keep_tail(struct direction *direction, const char *bytes, size_t length)
{
        if (length >= DIRECTION_KEPT) {
                memcpy(direction->tail, bytes + length - DIRECTION_KEPT, DIRECTION_KEPT);
                direction->tail_length = DIRECTION_KEPT;
                return;
        }
        size_t kept = direction->tail_length < DIRECTION_KEPT - length ? direction->tail_length
                                                                       : DIRECTION_KEPT - length;
        memmove(direction->tail, direction->tail + direction->tail_length - kept, kept);
        memcpy(direction->tail + kept, bytes, length);
        direction->tail_length = kept + length;
}

static void end_skipping(struct direction *direction)
{
        direction->skipping = false;
        if (!direction->is_noise)
                firewall_refuse_long(direction->firewall, direction->from, direction->head,
                                     direction->head_length, direction->tail, direction->tail_length);
}

/* Starts to skip the line of which bytes[line..end) is the beginning, or the whole. */
static void begin_skipping(struct direction *direction, size_t end)
{
        size_t length = end - direction->line;
        direction->skipping = true;
        /* the longest permitted message is never shorter than LINE_WHOLE_MAX */
        direction->is_noise = !firewall_takes(direction->from, direction->bytes + direction->line, length);
        direction->head_length = length < DIRECTION_KEPT ? length : DIRECTION_KEPT;
        direction->tail_length = 0;
        memcpy(direction->head, direction->bytes + direction->line, direction->head_length);
}

/* Judges or refuses the line bytes[line..end). */
static void end_line(struct direction *direction, size_t end)
{
        if (!direction->skipping && end - direction->line > direction->firewall->rules.message_max)
                begin_skipping(direction, end);
        if (direction->skipping) {
                keep_tail(direction, direction->bytes + direction->line, end - direction->line);
                end_skipping(direction);
        } else {
                judge_line(direction, end);
        }
}

/* Judges all complete lines that were read. */
static void judge_lines(struct direction *direction)
{
        char *newline;
        while ((newline = memchr(direction->bytes + direction->searched, '\n',
                                 direction->used - direction->searched))) {
                size_t end = (size_t)(newline - direction->bytes);
                end_line(direction, end);
                direction->line = direction->searched = end + 1;
        }
        direction->searched = direction->used;
        if (!direction->skipping &&
            direction->used - direction->line > direction->firewall->rules.message_max)
                begin_skipping(direction, direction->used);
        if (direction->skipping) {
                keep_tail(direction, direction->bytes + direction->line, direction->used - direction->line);
                direction->used = direction->searched = direction->line;
        }
}

/* Judges the last line, which the end of input ends. */
static void judge_last_line(struct direction *direction)
{
        if (direction->skipping || direction->line < direction->used)
                end_line(direction, direction->used);
        direction->line = direction->searched = direction->used = direction->passing;
}

/* ---- ends ---- */

static void close_end(struct endpoint *endpoint)
{
        int descriptor = endpoint->fd;
        endpoint_close(endpoint);
        fd_close(&descriptor);
}

static void close_direction(struct direction *direction)
{
        if (direction->done)
                return;
        direction->done = true;
        close_end(&direction->in);
        close_end(&direction->out);
        buf_clear(answers(direction));
        if (direction->from == SERVER)
                filter_report(FILTER_DRAINED, "", 0);
}

/* Notes that the writer will write no more. The descriptor may still have bytes of it. */
static void note_hang_up(struct direction *direction)
{
        if (!direction->hung_up && direction->from == CLIENT)
                filter_report(FILTER_INPUT_ENDED, "", 0);
        direction->hung_up = true;
}

/* Handles a reader that has closed. If it is the server, the client is still read, to notice when it ends. If
 * it is the client, both ends are closed, so that the server notices. */
static void lose_reader(struct direction *direction)
{
        direction->passed = direction->passing = direction->line = direction->searched = direction->used = 0;
        direction->skipping = false;
        if (direction->from == SERVER) {
                filter_report(FILTER_CLIENT_GONE, "", 0);
                close_direction(direction);
                return;
        }
        close_end(&direction->out);
        buf_clear(answers(direction));
}

/* Closes both ends after the end of input, once everything is written. */
static void close_finished(struct direction *direction)
{
        if (direction->in.fd < 0 && !wants_to_write(direction))
                close_direction(direction);
}

void direction_open(struct direction *direction)
{
        if (direction->in.fd < 0) {
                note_hang_up(direction);
                close_finished(direction);
        }
        if (direction->out.fd < 0 && !direction->done)
                lose_reader(direction);
}

/* ---- reading ---- */

/* Moves what is not judged yet to the front. Enlarges the buffer when a line needs it, and shrinks it when no
 * line does. */
static void make_room(struct direction *direction)
{
        size_t left = direction->used - direction->line;
        if (left == 0 && direction->room > ROOM_KEPT) {
                free(direction->bytes);
                direction->bytes = str_or_die(malloc(DIRECTION_ROOM));
                direction->room = DIRECTION_ROOM;
        }
        if (left > 0 && direction->line > 0)
                memmove(direction->bytes, direction->bytes + direction->line, left);
        direction->searched -= direction->line;
        direction->line = direction->passed = direction->passing = 0;
        direction->used = left;
        /* Keep one byte for an LF. */
        if (direction->room - direction->used < DIRECTION_ROOM / 2) {
                direction->room *= 2;
                direction->bytes = str_or_die(realloc(direction->bytes, direction->room));
        }
}

static void end_input(struct direction *direction)
{
        note_hang_up(direction);
        close_end(&direction->in);
        if (direction->out.fd >= 0)
                judge_last_line(direction);
        if (direction->from == SERVER)
                firewall_end_server(direction->firewall);
        close_finished(direction);
}

void direction_read(struct direction *direction, const struct pollfd polls[DIRECTION_POLLS])
{
        enum { ERRORS = POLLERR | POLLHUP | POLLNVAL };
        if (polls[1].revents & ERRORS)
                lose_reader(direction);
        if (direction->done || !polls[0].revents)
                return;
        if (polls[0].revents & (ERRORS | POLLRDHUP))
                note_hang_up(direction);
        if (!can_read(direction))
                return;
        make_room(direction);
        ssize_t got = endpoint_read(&direction->in, direction->bytes + direction->used,
                                    direction->room - direction->used - 1);
        if (got == -EAGAIN)
                return;
        if (got <= 0) { /* any error is an end of input: no more will come */
                end_input(direction);
        } else if (direction->out.fd >= 0) {
                direction->used += (size_t)got;
                judge_lines(direction);
        }
}

/* ---- writing ---- */

/* Writes what the reader takes now. False unless all of it was written. */
static bool write_some(struct direction *direction, const char *bytes, size_t length, size_t *sent)
{
        ssize_t written = endpoint_write(&direction->out, bytes, length);
        if (written < 0 && written != -EAGAIN)
                lose_reader(direction);
        if (written <= 0)
                return false;
        if (direction->hung_up)
                filter_report(direction->from == CLIENT ? FILTER_GIVEN : FILTER_TAKEN, "", 0);
        *sent += (size_t)written;
        return (size_t)written == length;
}

void direction_write(struct direction *direction)
{
        struct buf *own = answers(direction);
        if (direction->out.fd < 0) { /* the reader has closed */
                buf_clear(own);
                return;
        }
        /* A line of the filter that is partly written is completed first. */
        if (own->sent > 0 &&
            !write_some(direction, own->bytes + own->sent, own->length - own->sent, &own->sent))
                return;
        if (own->sent > 0)
                buf_clear(own);
        if (direction->passed < direction->passing &&
            !write_some(direction, direction->bytes + direction->passed,
                        direction->passing - direction->passed, &direction->passed))
                return;
        if (own->length > 0 && write_some(direction, own->bytes, own->length, &own->sent))
                buf_clear(own);
        close_finished(direction);
}
