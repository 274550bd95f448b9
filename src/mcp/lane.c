/* SPDX-License-Identifier: Apache-2.0
 *
 * See lane.h.
 *
 * Theory of operation. Bytes are read behind what is there; lines are judged in place, and what passes of
 * them is moved together at the front, so that many short lines are one write. While some of that is
 * unwritten nothing more is read: a side that takes nothing stops the side that writes. The filter's own
 * lines go between whole lines only.
 */
#include "mcp/lane.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "mcp/report.h"

#include <errno.h>

enum { ANSWERS_MAX = 256 * 1024, ROOM_KEPT = 1 << 20 };

void lane_begin(struct lane *lane, struct firewall *firewall, enum side from, struct endpoint in,
                struct endpoint out)
{
        *lane = (struct lane){.firewall = firewall, .from = from, .in = in, .out = out, .room = LANE_ROOM};
        lane->bytes = str_or_die(malloc(lane->room));
}

/* The filter's own lines for the side that this lane writes to. */
static struct outbox *answers(const struct lane *lane)
{
        return &lane->firewall->answers[lane->from == CLIENT ? SERVER : CLIENT];
}

/* Whether it has something to write, with the filter's own lines for that side. */
static bool wants_to_write(const struct lane *lane)
{
        return lane->out.fd >= 0 && (lane->passed < lane->passing || answers(lane)->length > 0);
}

/* Whether it takes more bytes now: not before what it has is written, nor while an answer is stuck. */
static bool wants_to_read(const struct lane *lane)
{
        const struct outbox *both = lane->firewall->answers;
        return lane->passed == lane->passing && both[CLIENT].length < ANSWERS_MAX &&
               both[SERVER].length < ANSWERS_MAX;
}

void lane_poll(const struct lane *lane, struct pollfd polls[LANE_POLLS])
{
        bool reads = wants_to_read(lane);
        /* A hang-up that is known would be reported for ever. */
        polls[0] = (struct pollfd){.fd = reads || !lane->hung_up ? lane->in.fd : -1,
                                   .events = reads ? POLLIN : POLLRDHUP};
        /* Without an event too: an error on it is how the reader's end shows. */
        polls[1] = (struct pollfd){.fd = lane->out.fd, .events = wants_to_write(lane) ? POLLOUT : 0};
}

/* ---- judging ---- */

/* Judges bytes[line..end), which is followed by an LF or has room for one. */
static void judge(struct lane *lane, size_t end)
{
        size_t length =
            firewall_judge(lane->firewall, lane->from, lane->bytes + lane->line, end - lane->line);
        if (length == 0)
                return;
        if (lane->passing != lane->line)
                memmove(lane->bytes + lane->passing, lane->bytes + lane->line, length);
        lane->passing += length;
        lane->bytes[lane->passing++] = '\n';
}

static void keep_tail(struct lane *lane, const char *bytes, size_t length)
{
        if (length >= LANE_KEPT) {
                memcpy(lane->tail, bytes + length - LANE_KEPT, LANE_KEPT);
                lane->tail_length = LANE_KEPT;
                return;
        }
        size_t kept = lane->tail_length < LANE_KEPT - length ? lane->tail_length : LANE_KEPT - length;
        memmove(lane->tail, lane->tail + lane->tail_length - kept, kept);
        memcpy(lane->tail + kept, bytes, length);
        lane->tail_length = kept + length;
}

static void end_skipping(struct lane *lane)
{
        lane->skipping = false;
        firewall_refuse_long(lane->firewall, lane->from, lane->head, lane->head_length, lane->tail,
                             lane->tail_length);
}

/* bytes[line..end) is too long, or the beginning of what is. */
static void begin_skipping(struct lane *lane, size_t end)
{
        size_t length = end - lane->line;
        lane->skipping = true;
        lane->head_length = length < LANE_KEPT ? length : LANE_KEPT;
        lane->tail_length = 0;
        memcpy(lane->head, lane->bytes + lane->line, lane->head_length);
}

/* The line that begins at `line` ends at `end`. */
static void end_line(struct lane *lane, size_t end)
{
        if (!lane->skipping && end - lane->line > lane->firewall->rules.message_max)
                begin_skipping(lane, end);
        if (lane->skipping) {
                keep_tail(lane, lane->bytes + lane->line, end - lane->line);
                end_skipping(lane);
        } else {
                judge(lane, end);
        }
}

/* Goes through what was read. */
static void judge_lines(struct lane *lane)
{
        char *newline;
        while ((newline = memchr(lane->bytes + lane->searched, '\n', lane->used - lane->searched))) {
                size_t end = (size_t)(newline - lane->bytes);
                end_line(lane, end);
                lane->line = lane->searched = end + 1;
        }
        lane->searched = lane->used;
        if (!lane->skipping && lane->used - lane->line > lane->firewall->rules.message_max)
                begin_skipping(lane, lane->used);
        if (lane->skipping) {
                keep_tail(lane, lane->bytes + lane->line, lane->used - lane->line);
                lane->used = lane->searched = lane->line;
        }
}

/* The end of input ends the last line too. */
static void judge_rest(struct lane *lane)
{
        if (lane->skipping || lane->line < lane->used)
                end_line(lane, lane->used);
        lane->line = lane->searched = lane->used = lane->passing;
}

/* ---- ends ---- */

static void close_end(struct endpoint *endpoint)
{
        int descriptor = endpoint->fd;
        endpoint_close(endpoint);
        fd_close(&descriptor);
}

static void close_lane(struct lane *lane)
{
        if (lane->done)
                return;
        lane->done = true;
        close_end(&lane->in);
        close_end(&lane->out);
        outbox_clear(answers(lane));
        if (lane->from == SERVER)
                report(FILTER_DRAINED, "", 0);
}

/* The writer will write no more; some of what it wrote may still be to come. */
static void hang_up(struct lane *lane)
{
        if (!lane->hung_up && lane->from == CLIENT)
                report(FILTER_INPUT_ENDED, "", 0);
        lane->hung_up = true;
}

/* Nobody takes its bytes any more. What the client says is still read then, to notice its end; the server
 * must notice that nobody listens. */
static void lose_reader(struct lane *lane)
{
        lane->passed = lane->passing = lane->line = lane->searched = lane->used = 0;
        lane->skipping = false;
        if (lane->from == SERVER) {
                report(FILTER_CLIENT_GONE, "", 0);
                close_lane(lane);
                return;
        }
        close_end(&lane->out);
        outbox_clear(answers(lane));
}

/* After the end of input, once everything is written. */
static void close_finished(struct lane *lane)
{
        if (lane->in.fd < 0 && !wants_to_write(lane))
                close_lane(lane);
}

void lane_open(struct lane *lane)
{
        if (lane->in.fd < 0) {
                hang_up(lane);
                close_finished(lane);
        }
        if (lane->out.fd < 0 && !lane->done)
                lose_reader(lane);
}

/* ---- reading ---- */

/* What is not judged, to the front; more room where a line needs it, and less where it no longer does. */
static void make_room(struct lane *lane)
{
        size_t left = lane->used - lane->line;
        if (left == 0 && lane->room > ROOM_KEPT) {
                free(lane->bytes);
                lane->bytes = str_or_die(malloc(LANE_ROOM));
                lane->room = LANE_ROOM;
        }
        if (left > 0 && lane->line > 0)
                memmove(lane->bytes, lane->bytes + lane->line, left);
        lane->searched -= lane->line;
        lane->line = lane->passed = lane->passing = 0;
        lane->used = left;
        /* One byte is left for an LF. */
        if (lane->room - lane->used < LANE_ROOM / 2) {
                lane->room *= 2;
                lane->bytes = str_or_die(realloc(lane->bytes, lane->room));
        }
}

static void end_input(struct lane *lane)
{
        hang_up(lane);
        close_end(&lane->in);
        if (lane->out.fd >= 0)
                judge_rest(lane);
        if (lane->from == SERVER)
                firewall_end_server(lane->firewall);
        close_finished(lane);
}

static void read_some(struct lane *lane)
{
        make_room(lane);
        ssize_t got = endpoint_read(&lane->in, lane->bytes + lane->used, lane->room - lane->used - 1);
        if (got == -EAGAIN)
                return;
        if (got <= 0) { /* any error is an end too: there will be no more */
                end_input(lane);
        } else if (lane->out.fd >= 0) {
                lane->used += (size_t)got;
                judge_lines(lane);
        }
}

void lane_read(struct lane *lane, const struct pollfd polls[LANE_POLLS])
{
        enum { ERRORS = POLLERR | POLLHUP | POLLNVAL };
        if (polls[1].revents & ERRORS)
                lose_reader(lane);
        if (lane->done || !polls[0].revents)
                return;
        if (polls[0].revents & (ERRORS | POLLRDHUP))
                hang_up(lane);
        if (wants_to_read(lane))
                read_some(lane);
}

/* ---- writing ---- */

/* Writes some; false when there is no more to be done now. */
static bool put(struct lane *lane, const char *bytes, size_t length, size_t *sent)
{
        ssize_t put = endpoint_write(&lane->out, bytes, length);
        if (put < 0 && put != -EAGAIN)
                lose_reader(lane);
        if (put <= 0)
                return false;
        if (lane->hung_up)
                report(lane->from == CLIENT ? FILTER_GIVEN : FILTER_TAKEN, "", 0);
        *sent += (size_t)put;
        return (size_t)put == length;
}

void lane_write(struct lane *lane)
{
        struct outbox *own = answers(lane);
        if (lane->out.fd < 0) { /* nobody is there to hear it */
                outbox_clear(own);
                return;
        }
        /* One of the filter's own lines that was begun is ended first. */
        if (own->sent > 0 && !put(lane, own->bytes + own->sent, own->length - own->sent, &own->sent))
                return;
        if (own->sent > 0)
                outbox_clear(own);
        if (lane->passed < lane->passing &&
            !put(lane, lane->bytes + lane->passed, lane->passing - lane->passed, &lane->passed))
                return;
        if (own->length > 0 && put(lane, own->bytes, own->length, &own->sent))
                outbox_clear(own);
        close_finished(lane);
}
