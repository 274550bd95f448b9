/* SPDX-License-Identifier: Apache-2.0
 *
 * The event loop of hutch-nat. A turn handles the events that epoll returned, then the timers that are due,
 * then the turn hook, and then frees what was left for the end of the turn.
 */
#ifndef HUTCH_NAT_LOOP_H
#define HUTCH_NAT_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The structure that `pointer` is a member of. */
#define OWNER(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* A descriptor in the loop, embedded in the structure it belongs to. The loop calls `ready` when epoll
 * reports events. */
struct source {
        int descriptor;    /* -1: none */
        uint32_t events;   /* that the source waits for */
        uint32_t reported; /* by epoll, before `ready` is called */
        bool is_detached;
        void (*ready)(struct source *source);
};

/* Adds a descriptor, changes the events it waits for, removes it. source_detach() leaves the descriptor open,
 * and source_want() adds it again; source_take() does so too, and gives it to the caller; source_close()
 * closes it. source_add() returns false with errno when the kernel refuses; the descriptor stays the
 * caller's. source_serve() ends the process then, for a descriptor without which the sandbox has no network.
 */
bool source_add(struct source *source, int descriptor, uint32_t events, void (*ready)(struct source *source));
void source_serve(struct source *source, int descriptor, void (*ready)(struct source *source));
void source_want(struct source *source, uint32_t events);
void source_detach(struct source *source);
int source_take(struct source *source);
void source_close(struct source *source);

/* The error that waits in a socket (SO_ERROR): 0 when there is none. */
int source_error(const struct source *source);

/* The kinds of timers. All timers of one kind run equally long, so the queue of a kind stays in
 * order. */
enum timer_kind {
        TIMER_FAMILY,  /* 50 ms: how long A answers wait for AAAA answers (RFC 8305, resolution delay) */
        TIMER_ATTEMPT, /* 250 ms: from one connection attempt to the next (RFC 8305) */
        TIMER_CONNECT, /* 20 s: for all attempts of a flow together */
        TIMER_SNIFF,   /* 15 s: for a client to finish what it began, a ClientHello or a request head */
        TIMER_IDLE,    /* 60 s: a UDP flow without datagrams */
        TIMER_KINDS
};

struct timer {
        struct timer *next, *previous; /* NULL while it does not run */
        long long due;                 /* monotonic ms */
        void (*fired)(struct timer *timer);
};

/* Starts a timer, again if it runs. Stopping one that does not run does nothing. */
void timer_start(struct timer *timer, enum timer_kind kind, void (*fired)(struct timer *timer));
void timer_stop(struct timer *timer);
/* The timer of this kind that was started first, or NULL when none runs. */
struct timer *timer_first(enum timer_kind kind);

/* A listening socket in the loop, the first member of the structure it belongs to. Zero it before
 * source_add(). */
struct acceptor {
        struct source source;
        struct timer pause;
};

/* The next connection, or -1. When the process has no descriptor left for it the acceptor pauses, because
 * epoll would report it in every turn. */
int acceptor_next(struct acceptor *acceptor);
/* Leaves waiting connections in the kernel's queue for TIMER_ATTEMPT. */
void acceptor_pause(struct acceptor *acceptor);

/* Frees memory at the end of the turn: events of this turn may still point into it. */
void loop_free_later(void *pointer);
/* Closes a descriptor at the end of the turn: the close() that ends a connection takes longer than anything
 * else, and other flows wait for their part of the turn. No other process may have a copy of it, because only
 * the last close takes a descriptor out of epoll. */
void loop_close_later(int descriptor);

/* Registers the hook that runs once in each turn: `timeout` returns the milliseconds until the hook wants a
 * turn, or -1; `turn` is the hook. There is one. */
void loop_set_hook(int (*timeout)(void), void (*turn)(void));

/* Makes the loop. False, with errno, when the kernel refuses. */
bool loop_start(void);
/* Waits for events and runs one turn. */
void loop_turn(void);
_Noreturn void loop_run(void);

#endif
