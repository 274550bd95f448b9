/* SPDX-License-Identifier: Apache-2.0
 *
 * See relay.h. One buffer serves all flows, because bytes that are read are written at once. Only bytes that
 * an end does not accept are kept, and nothing more is read for that end until it has accepted them: each
 * stalled direction holds at most one buffer.
 *
 * The first bytes of a turn are copied through the buffer. When there are more, the rest goes through a pipe
 * with splice(2), which moves pages without copying them. One pipe serves all flows too: it must be empty
 * whenever the turn of a flow ends, or its bytes would reach another flow.
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
        TURN_BYTES = 4 * NAT_BUFFER, /* what one end may move before other flows have their turn */
        HELD_MAX = 128 << 20,        /* bytes that wait in all flows together */
        HELD_MUCH = HELD_MAX / 4,    /* from here on a flow reads at most SMALL_BUFFER at a time */
        SMALL_BUFFER = NAT_BUFFER >> 6,
        COPIED_MAX = 64 << 10,  /* what is copied before splice() is used */
        PIPE_BYTES = 128 << 10, /* as the kernel counts: a slot of 4 KiB may hold more */
};

static size_t held;
static int splice_pipe[2]; /* read end, write end */

bool relay_prepare(void)
{
        if (pipe2(splice_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
                return false;
        /* The pipe keeps its size where the user has too many large pipes already. */
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

/* Writes pending bytes. False when the end is broken. */
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

/* Passes the end of input on, once every byte before it is written. */
static void pass_end(struct relay_end *from, struct relay_end *to)
{
        if (!from->input_ended || to->pending || to->output_ended)
                return;
        to->output_ended = true;
        (void)shutdown(to->source.descriptor, SHUT_WR);
}

/* Notes the result of a read. Returns the length, 0 when there is nothing now or nothing more, or a negative
 * errno. */
static ssize_t note_input(struct relay_end *from, ssize_t length, size_t *moved)
{
        if (length < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        from->input_ended = length == 0;
        from->taken += (uint64_t)length;
        *moved += (size_t)length;
        return length;
}

/* Moves at most one buffer. Returns 1 when there may be more, 0 when there is nothing now, a negative errno
 * when an end is broken. */
static int move_copied(struct relay_end *from, struct relay_end *to, bool ends, size_t *moved)
{
        size_t most = held < HELD_MUCH ? COPIED_MAX : SMALL_BUFFER;
        ssize_t length = note_input(from, recv(from->source.descriptor, nat.buffer, most, 0), moved);
        if (length <= 0)
                return (int)length;
        /* A short read has emptied the socket, and another read would waste a system call, unless the hang-up
         * was reported. Another read then finds the end, which leaves in one packet with the last bytes. */
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

/* Keeps the `left` bytes in the pipe for an end that does not accept them. */
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

/* As move_copied(), with splice(). */
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

/* Moves what there is. False, with errno, when an end is broken. */
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

/* Waits for what an end can still do. An end that can do nothing now and has hung up is detached, because
 * epoll would report the hang-up in every turn: it has ended both ways while the other goes on, or it waits
 * until the other accepts its bytes. */
static void wait_for(struct relay_end *end, const struct relay_end *other)
{
        uint32_t events = end->pending ? EPOLLOUT : 0;
        if (!end->input_ended && !other->pending)
                events |= RELAY_INPUT;
        bool hung_up = end->source.reported & EPOLLHUP || (end->input_ended && end->output_ended);
        if (!events && hung_up)
                source_detach(&end->source);
        else
                source_want(&end->source, events);
}

enum relay_result relay_move(struct relay_end *end, struct relay_end *other, uint32_t events)
{
        /* epoll reports an error whatever the source waits for, in every turn. */
        if ((events & EPOLLERR) && (errno = source_error(&end->source)) != 0)
                return RELAY_BROKEN;
        bool had_pending = end->pending;
        if (had_pending && !flush(end))
                return RELAY_BROKEN;
        if ((events & (RELAY_INPUT | EPOLLHUP)) && !move_direction(end, other, events & EPOLLRDHUP))
                return RELAY_BROKEN;
        /* Nothing was read from the other end while this one had pending bytes. */
        if (events && had_pending && !move_direction(other, end, false))
                return RELAY_BROKEN;
        /* Closing both ends says the same as shutdown() would. */
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
