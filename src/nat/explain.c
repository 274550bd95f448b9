/* SPDX-License-Identifier: Apache-2.0
 *
 * See explain.h. This module sends only answers to questions, so the sandbox cannot make it fill a queue.
 *
 * Theory of operation. hutch-filter asks when it holds an answer of the server that reports a failed call.
 * Every refusal that the server knew of when it wrote that answer was complete before the question was sent.
 * hutch-nat has one thread and finishes one event before the next, so it has kept that refusal before it
 * reads the question. Only what the kernel refuses by itself (attempts.c) may still wait in a socket. The
 * kernel puts it there before it refuses it, so it is enough to read that socket first.
 */
#include "nat/explain.h"

#include "nat/attempts.h"
#include "nat/loop.h"
#include "nat/refusals.h"
#include "nat/wire.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static void filter_ready(struct source *source)
{
        struct {
                struct nat_asked head;
                char text[NAT_TEXT_MAX];
        } answer;
        ssize_t got = recv(source->descriptor, &answer.head, sizeof(answer.head), MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (got != sizeof(answer.head)) { /* hutch-filter has ended, and so does the sandbox */
                source_close(source);
                return;
        }
        attempts_catch_up();
        size_t length = refusals_write(answer.head.since, answer.text, sizeof(answer.text));
        (void)send(source->descriptor, &answer, sizeof(answer.head) + length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool explain_serve(void)
{
        static struct source filter;
        refusals_start();
        return source_add(&filter, NAT_FILTER, EPOLLIN, filter_ready);
}
