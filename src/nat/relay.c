/* SPDX-License-Identifier: Apache-2.0
 *
 * See relay.h. One buffer serves all flows, because what is read is written at once; only what an end does
 * not take is kept, and then nothing more is read for it: memory is bounded by one buffer per stalled
 * direction.
 *
 * Little is copied through the buffer; where there is more, the rest goes through a pipe, in which the kernel
 * passes pages on without copying them. The pipe serves all flows as well: it must be empty whenever a flow's
 * turn is over, or its bytes would reach another.
 */
#include "nat/relay.h"

#include "nat/nat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
        TURN_BYTES = 4 * NAT_BUFFER, /* how much one end may move before the others have their turn */
        HELD_MAX = 128 << 20,        /* bytes that wait, of all flows */
        HELD_MUCH = HELD_MAX / 4,    /* from here on a flow reads only so much at a time: */
        SMALL_BUFFER = NAT_BUFFER >> 6,
        COPIED_MAX = 64 << 10,  /* what is copied before pages are passed on */
        PIPE_BYTES = 128 << 10, /* by the kernel's count: a slot of 4 KiB may hold more */
};

static size_t held;
static int splice_pipe[2]; /* the pipe */

bool relay_prepare(void)
{
        if (pipe2(splice_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
                return false;
        /* It stays as it is where the account has too many large pipes already. */
        (void)fcntl(splice_pipe[1], F_SETPIPE_SZ, PIPE_BYTES);
        return true;
}

bool relay_hold(size_t bytes)
{
        if (bytes > HELD_MAX - held)
                return false;
        held += bytes;
        return true;
}

void relay_release(size_t bytes)
{
        held -= bytes;
}

bool relay_push(struct relay_end *end, const uint8_t *bytes, size_t length)
{
        size_t kept = end->pending_to - end->pending_from;
        if (!relay_hold(length))
                return false;
        uint8_t *pending = malloc(kept + length);
        if (!pending) {
                relay_release(length);
                return false;
        }
        if (kept)
                memcpy(pending, end->pending + end->pending_from, kept);
        memcpy(pending + kept, bytes, length);
        relay_release(end->pending_from);
        free(end->pending);
        end->pending = pending;
        end->pending_from = 0;
        end->pending_to = kept + length;
        return true;
}

static void drop_pending(struct relay_end *end)
{
        relay_release(end->pending_to);
        free(end->pending);
        end->pending = NULL;
        end->pending_from = end->pending_to = 0;
}

/* Writes what is pending. False when the end is broken. */
static bool flush(struct relay_end *end)
{
        while (end->pending) {
                ssize_t sent = send(end->source.descriptor, end->pending + end->pending_from,
                                    end->pending_to - end->pending_from, MSG_NOSIGNAL);
                if (sent < 0)
                        return errno == EAGAIN || errno == EINTR;
                end->pending_from += (size_t)sent;
                if (end->pending_from < end->pending_to)
                        continue;
                drop_pending(end);
        }
        return true;
}

/* Passes an end of input on, once everything before it is out. */
static void pass_end(struct relay_end *from, struct relay_end *to)
{
        if (!from->input_ended || to->pending || to->output_ended)
                return;
        to->output_ended = true;
        (void)shutdown(to->source.descriptor, SHUT_WR);
}

/* What a call has read of an end: its length, 0 when there is nothing now or nothing more, or negative. */
static ssize_t note_input(struct relay_end *from, ssize_t length, size_t *moved)
{
        if (length < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        from->input_ended = length == 0;
        from->taken += (uint64_t)length;
        *moved += (size_t)length;
        return length;
}

/* Moves one buffer. 1: there may be more; 0: not now; negative: an end is broken. */
static int move_copied(struct relay_end *from, struct relay_end *to, bool ends, size_t *moved)
{
        size_t most = held < HELD_MUCH ? COPIED_MAX : SMALL_BUFFER;
        ssize_t length = note_input(from, recv(from->source.descriptor, nat.buffer, most, 0), moved);
        if (length <= 0)
                return (int)length;
        /* A short read has emptied the socket: asking again would cost a call for nothing, unless there is an
         * end to be heard of, which then leaves in one packet with the last bytes. */
        bool more = (size_t)length == most || ends;
        ssize_t sent =
            send(to->source.descriptor, nat.buffer, (size_t)length, MSG_NOSIGNAL | (ends ? MSG_MORE : 0));
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
                return -errno;
        if (sent < 0)
                sent = 0;
        if (sent < length)
                return relay_push(to, nat.buffer + sent, (size_t)(length - sent)) ? 0 : -ENOMEM;
        return more;
}

/* Empties the pipe: the `left` bytes in it are kept for an end that could not take them. */
static int empty_pipe(struct relay_end *to, size_t left)
{
        ssize_t length;
        int error = 0;
        while ((length = read(splice_pipe[0], nat.buffer, NAT_BUFFER)) > 0) {
                if (error == 0 && !relay_push(to, nat.buffer, (size_t)length))
                        error = -ENOMEM;
                left -= (size_t)length;
        }
        return left ? -EIO : error;
}

/* The same as move_copied() by pages. */
static int move_pages(struct relay_end *from, struct relay_end *to, size_t *moved)
{
        size_t most = held < HELD_MUCH ? NAT_BUFFER : SMALL_BUFFER;
        ssize_t length = note_input(
            from, splice(from->source.descriptor, NULL, splice_pipe[1], NULL, most, SPLICE_F_NONBLOCK),
            moved);
        if (length <= 0)
                return (int)length;
        size_t left = (size_t)length;
        ssize_t sent = 0;
        do
                sent = splice(splice_pipe[0], NULL, to->source.descriptor, NULL, left, SPLICE_F_NONBLOCK);
        while (sent > 0 && (left -= (size_t)sent) > 0);
        if (left == 0)
                return 1;
        int error = sent == 0 || errno == EAGAIN || errno == EINTR ? 0 : -errno;
        int kept = empty_pipe(to, left);
        return error ? error : kept;
}

/* False, with errno, when an end is broken. */
static bool move_direction(struct relay_end *from, struct relay_end *to, bool ends)
{
        size_t moved = 0;
        int more = !from->input_ended && !to->pending;
        while (more > 0 && moved < TURN_BYTES)
                more =
                    moved < COPIED_MAX ? move_copied(from, to, ends, &moved) : move_pages(from, to, &moved);
        if (more < 0) {
                errno = -more;
                return false;
        }
        return true;
}

static uint32_t wanted(const struct relay_end *end, const struct relay_end *other)
{
        uint32_t events = end->pending ? EPOLLOUT : 0;
        if (!end->input_ended && !other->pending)
                events |= RELAY_INPUT;
        return events;
}

static bool is_broken(const struct relay_end *end)
{
        int error = 0;
        socklen_t length = sizeof(error);
        (void)getsockopt(end->source.descriptor, SOL_SOCKET, SO_ERROR, &error, &length);
        errno = error;
        return error != 0;
}

/* Waits for what an end can still do. One that has ended both ways, and waits for the other, would report its
 * hang-up for ever. */
static void wait_for(struct relay_end *end, const struct relay_end *other)
{
        if (end->input_ended && end->output_ended)
                source_detach(&end->source);
        else
                source_want(&end->source, wanted(end, other));
}

enum relay_result relay_move(struct relay_end *end, struct relay_end *other, uint32_t events)
{
        /* An error is reported whatever was asked for, and would be again. */
        if ((events & EPOLLERR) && is_broken(end))
                return RELAY_BROKEN;
        bool had_pending = end->pending;
        if (had_pending && !flush(end))
                return RELAY_BROKEN;
        if ((events & (RELAY_INPUT | EPOLLHUP)) && !move_direction(end, other, events & EPOLLRDHUP))
                return RELAY_BROKEN;
        /* Nothing was read for an end that did not take what it had. */
        if (events && had_pending && !move_direction(other, end, false))
                return RELAY_BROKEN;
        /* Closing says the same as both ends' shutdown(). */
        if (end->input_ended && other->input_ended && !end->pending && !other->pending)
                return RELAY_ENDED;
        pass_end(end, other);
        pass_end(other, end);
        wait_for(end, other);
        wait_for(other, end);
        return RELAY_GOES_ON;
}

void relay_close(struct relay_end *end, bool reset)
{
        if (reset && end->source.descriptor >= 0) {
                struct linger at_once = {.l_onoff = 1};
                (void)setsockopt(end->source.descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        }
        if (end->sole && end->source.descriptor >= 0) {
                loop_close_later(end->source.descriptor);
                end->source.descriptor = -1;
        }
        source_close(&end->source);
        drop_pending(end);
}
