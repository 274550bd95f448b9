/* SPDX-License-Identifier: Apache-2.0
 *
 * See loop.h. The loop blocks in epoll_wait() and nowhere else, and memory that an event of the same turn may
 * still point into is not freed before the turn ends.
 */
#include "nat/loop.h"

#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "nat/nat.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static const int durations_ms[TIMER_KINDS] = {
    [TIMER_FAMILY] = 50,   [TIMER_ATTEMPT] = 250, [TIMER_CONNECT] = 20000,
    [TIMER_SNIFF] = 15000, [TIMER_IDLE] = 60000,
};

enum { FEW_EVENTS = 4, CLOSINGS_MAX = 16 };

/* Freed or closed at the end of the turn. */
struct garbage {
        struct garbage *next;
        void *pointer;
        int descriptor;
};

static struct {
        int epoll;
        struct timer queues[TIMER_KINDS]; /* the heads of rings */
        struct garbage *garbage;
        unsigned closings; /* descriptors in `garbage` */
        int (*hook_timeout)(void);
        void (*hook)(void);
} loop;

bool source_add(struct source *source, int descriptor, uint32_t events, void (*ready)(struct source *source))
{
        *source = (struct source){.descriptor = descriptor, .events = events, .ready = ready};
        struct epoll_event event = {.events = events, .data.ptr = source};
        return epoll_ctl(loop.epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void source_serve(struct source *source, int descriptor, void (*ready)(struct source *source))
{
        if (!source_add(source, descriptor, EPOLLIN, ready))
                str_or_die(NULL);
}

void source_want(struct source *source, uint32_t events)
{
        if (source->events == events && !source->is_detached)
                return;
        struct epoll_event event = {.events = events, .data.ptr = source};
        (void)epoll_ctl(loop.epoll, source->is_detached ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, source->descriptor,
                        &event);
        source->events = events;
        source->is_detached = false;
}

void source_detach(struct source *source)
{
        if (!source->is_detached)
                (void)epoll_ctl(loop.epoll, EPOLL_CTL_DEL, source->descriptor, NULL);
        source->is_detached = true;
}

int source_take(struct source *source)
{
        source_detach(source);
        return fd_take(&source->descriptor);
}

void source_close(struct source *source)
{
        /* close() is not enough: while pid 1 or a child holds a copy, epoll keeps reporting the source. */
        if (source->descriptor >= 0)
                close(source_take(source));
}

int source_error(const struct source *source)
{
        int error = 0;
        socklen_t length = sizeof(error);
        (void)getsockopt(source->descriptor, SOL_SOCKET, SO_ERROR, &error, &length);
        return error;
}

void timer_stop(struct timer *timer)
{
        if (!timer->next)
                return;
        timer->previous->next = timer->next;
        timer->next->previous = timer->previous;
        timer->next = timer->previous = NULL;
}

void timer_start(struct timer *timer, enum timer_kind kind, void (*fired)(struct timer *timer))
{
        timer_stop(timer);
        struct timer *queue = &loop.queues[kind];
        timer->due = nat.now + durations_ms[kind];
        timer->fired = fired;
        timer->next = queue;
        timer->previous = queue->previous;
        queue->previous->next = timer;
        queue->previous = timer;
}

struct timer *timer_first(enum timer_kind kind)
{
        struct timer *first = loop.queues[kind].next;
        return first == &loop.queues[kind] ? NULL : first;
}

static void accept_again(struct timer *timer)
{
        source_want(&OWNER(timer, struct acceptor, pause)->source, EPOLLIN);
}

void acceptor_pause(struct acceptor *acceptor)
{
        source_want(&acceptor->source, 0);
        timer_start(&acceptor->pause, TIMER_ATTEMPT, accept_again);
}

int acceptor_next(struct acceptor *acceptor)
{
        int accepted = accept4(acceptor->source.descriptor, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (accepted < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                acceptor_pause(acceptor);
        return accepted;
}

static void leave_for_later(void *pointer, int descriptor)
{
        struct garbage *item = str_or_die(malloc(sizeof(*item)));
        *item = (struct garbage){.next = loop.garbage, .pointer = pointer, .descriptor = descriptor};
        loop.garbage = item;
}

void loop_free_later(void *pointer)
{
        leave_for_later(pointer, -1);
}

void loop_close_later(int descriptor)
{
        /* Bounded, because a new connection may need these descriptors. */
        if (loop.closings == CLOSINGS_MAX) {
                close(descriptor);
                return;
        }
        loop.closings++;
        leave_for_later(NULL, descriptor);
}

static void collect_garbage(void)
{
        loop.closings = 0;
        while (loop.garbage) {
                struct garbage *item = loop.garbage;
                loop.garbage = item->next;
                fd_close(&item->descriptor);
                free(item->pointer);
                free(item);
        }
}

void loop_set_hook(int (*timeout)(void), void (*turn)(void))
{
        loop.hook_timeout = timeout;
        loop.hook = turn;
}

static int next_timeout(void)
{
        long long soonest = -1;
        for (enum timer_kind kind = 0; kind < TIMER_KINDS; kind++) {
                const struct timer *first = timer_first(kind);
                if (first && (soonest < 0 || first->due < soonest))
                        soonest = first->due;
        }
        int hook = loop.hook ? loop.hook_timeout() : -1;
        if (soonest < 0)
                return hook;
        int timers = soonest > nat.now ? (int)(soonest - nat.now) : 0;
        return hook >= 0 && hook < timers ? hook : timers;
}

static void fire_timers(void)
{
        for (enum timer_kind kind = 0; kind < TIMER_KINDS; kind++) {
                struct timer *timer;
                while ((timer = timer_first(kind)) != NULL && timer->due <= nat.now) {
                        timer_stop(timer);
                        timer->fired(timer);
                }
        }
}

bool loop_start(void)
{
        loop.epoll = epoll_create1(EPOLL_CLOEXEC);
        for (size_t i = 0; i < TIMER_KINDS; i++)
                loop.queues[i].next = loop.queues[i].previous = &loop.queues[i];
        return loop.epoll >= 0;
}

void loop_turn(void)
{
        struct epoll_event events[64];
        int count = epoll_wait(loop.epoll, events, sizeof(events) / sizeof(*events), next_timeout());
        nat.now = clock_now_ms();
        nat.busy = count > FEW_EVENTS;
        for (int i = 0; i < count; i++) {
                struct source *source = events[i].data.ptr;
                /* An earlier event of this turn may have closed it. */
                source->reported = events[i].events;
                if (source->descriptor >= 0)
                        source->ready(source);
        }
        fire_timers();
        if (loop.hook)
                loop.hook();
        collect_garbage();
}

void loop_run(void)
{
        for (;;)
                loop_turn();
}
