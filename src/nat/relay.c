/* SPDX-License-Identifier: Apache-2.0
 *
 * See relay.h. One buffer serves all flows, because what is read is written at once; only what an end does
 * not take is copied, and then nothing more is read for it: memory is bounded by one buffer per stalled
 * direction.
 */
#include "nat/relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum {
        TURN_BYTES = 4 * NAT_BUFFER, /* how much one end may move before the others have their turn */
        HELD_MAX = 128 << 20,        /* bytes that wait, of all flows */
        HELD_MUCH = HELD_MAX / 4,    /* from here on a flow reads only so much at a time: */
        SMALL_BUFFER = NAT_BUFFER >> 6,
};

static size_t held;

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

/* Moves one buffer. 1: there may be more; 0: not now; negative: an end is broken. */
static int move_once(struct relay_end *from, struct relay_end *to, size_t *moved)
{
        size_t most = held < HELD_MUCH ? NAT_BUFFER : SMALL_BUFFER;
        ssize_t length = recv(from->source.descriptor, nat.buffer, most, 0);
        if (length < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        if (length == 0) {
                from->input_ended = true;
                return 0;
        }
        from->taken += (uint64_t)length;
        *moved += (size_t)length;
        ssize_t sent = send(to->source.descriptor, nat.buffer, (size_t)length, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
                return -errno;
        if (sent < 0)
                sent = 0;
        if (sent < length)
                return relay_push(to, nat.buffer + sent, (size_t)(length - sent)) ? 0 : -ENOMEM;
        /* A short read has emptied the socket: asking again would cost a call for nothing. */
        return (size_t)length == most;
}

/* False, with errno, when an end is broken. */
static bool move_direction(struct relay_end *from, struct relay_end *to)
{
        size_t moved = 0;
        int more = !from->input_ended && !to->pending;
        while (more > 0 && moved < TURN_BYTES)
                more = move_once(from, to, &moved);
        if (more < 0) {
                errno = -more;
                return false;
        }
        pass_end(from, to);
        return true;
}

static uint32_t wanted(const struct relay_end *end, const struct relay_end *other)
{
        uint32_t events = end->pending ? EPOLLOUT : 0;
        if (!end->input_ended && !other->pending)
                events |= EPOLLIN;
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
        if ((events & EPOLLOUT) && !flush(end))
                return RELAY_BROKEN;
        if (!move_direction(end, other) || !move_direction(other, end))
                return RELAY_BROKEN;
        pass_end(other, end);
        if (end->output_ended && other->output_ended)
                return RELAY_ENDED;
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
        source_close(&end->source);
        drop_pending(end);
}
