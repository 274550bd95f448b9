/* SPDX-License-Identifier: Apache-2.0
 *
 * What was refused, for hutch-filter, which tells the model (--explain). It must never send what it was not
 * asked for: so the sandbox cannot make it fill a queue, and what it keeps has its size from the start.
 *
 * Theory of operation. hutch-filter asks when it holds an answer of the server's that says that a call
 * failed. Whatever refusal the server knew of when it wrote that was complete before the question was sent,
 * so before it is read here: this process has one thread, and finishes one event before it takes the next.
 * Only what the kernel refuses by itself (attempts.c) may wait in a socket still; the kernel put it there
 * before it refused it, so catching up is enough.
 */
#include "nat/nat.h"
#include "nat/wire.h"

#include "lib/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { REFUSAL_MAX = NAT_TEXT_MAX / (NAT_REFUSALS_KEPT + 1) };

struct refusal {
        long long at; /* when it was last so: clock_now_ns() */
        char what[REFUSAL_MAX];
};

static struct {
        bool wanted;
        size_t count;
        struct refusal list[NAT_REFUSALS_KEPT]; /* in the order of `at` */
        long long forgotten_at;                 /* the last one that had to make room was so */
        struct source source;
} refusals;

static void drop(size_t i)
{
        refusals.count--;
        memmove(&refusals.list[i], &refusals.list[i + 1], (refusals.count - i) * sizeof(*refusals.list));
}

void refusals_keep(const char *what)
{
        size_t same = 0;
        if (!refusals.wanted)
                return;
        while (same < refusals.count && strncmp(refusals.list[same].what, what, REFUSAL_MAX - 1) != 0)
                same++;
        if (same < refusals.count) {
                drop(same);
        } else if (refusals.count == NAT_REFUSALS_KEPT) {
                refusals.forgotten_at = refusals.list[0].at;
                drop(0);
        }
        struct refusal *refusal = &refusals.list[refusals.count++];
        refusal->at = clock_now_ns();
        snprintf(refusal->what, sizeof(refusal->what), "%s", what);
}

/* Writes what was refused since then; returns its length. */
static size_t write_refusals(long long since, char *out, size_t size)
{
        size_t length = 0;
        for (size_t i = 0; i < refusals.count; i++)
                if (refusals.list[i].at >= since)
                        length +=
                            (size_t)snprintf(out + length, size - length, "%s\n", refusals.list[i].what);
        if (refusals.forgotten_at >= since)
                length += (size_t)snprintf(out + length, size - length, "more\n");
        return length;
}

static void filter_ready(struct source *source, uint32_t events)
{
        struct {
                struct nat_asked head;
                char text[NAT_TEXT_MAX];
        } answer;
        (void)events;
        ssize_t got = recv(source->descriptor, &answer.head, sizeof(answer.head), MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (got != sizeof(answer.head)) { /* it has ended, and so does the sandbox */
                source_close(source);
                return;
        }
        attempts_catch_up();
        size_t length = write_refusals(answer.head.since, answer.text, sizeof(answer.text));
        (void)send(source->descriptor, &answer, sizeof(answer.head) + length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool refusals_serve(void)
{
        refusals.wanted = true;
        return source_add(&refusals.source, NAT_FILTER, EPOLLIN, filter_ready);
}
