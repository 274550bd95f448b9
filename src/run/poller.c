/* SPDX-License-Identifier: Apache-2.0
 *
 * See poller.h.
 *
 * Theory of operation. The epoll descriptor reports only that some quiet descriptor is ready; poll() on all
 * of them then says which. So nothing is reported that poll() would not report. A closed descriptor leaves
 * the epoll set by itself, unless another process has it open too. Then the epoll descriptor stays ready
 * while poll() finds nothing, and the poller stops remembering for good.
 */
#include "run/poller.h"

#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

void poller_begin(struct poller *poller)
{
        int made = epoll_create1(EPOLL_CLOEXEC);
        *poller = (struct poller){.epoll = made > 0 ? made : 0};
}

void poller_end(struct poller *poller)
{
        if (poller->epoll)
                close(poller->epoll);
        *poller = (struct poller){0};
}

/* Replaces `before` in the epoll set by `now`. False for what epoll does not accept, such as a regular file.
 */
static bool remember(const struct poller *poller, const struct pollfd *before, const struct pollfd *now)
{
        struct epoll_event event = {.events = (uint32_t)now->events};
        if (before->fd == now->fd && before->events == now->events)
                return true;
        if (before->fd >= 0)
                (void)epoll_ctl(poller->epoll, EPOLL_CTL_DEL, before->fd, NULL);
        return now->fd < 0 || epoll_ctl(poller->epoll, EPOLL_CTL_ADD, now->fd, &event) == 0;
}

/* False when they cannot all be remembered. */
static bool remember_all(struct poller *poller, const struct pollfd *polls, size_t quiet)
{
        if (quiet > POLLER_QUIET_MAX)
                return false;
        for (size_t i = 0; i < quiet || i < poller->count; i++) {
                const struct pollfd none = {.fd = -1};
                if (!remember(poller, i < poller->count ? &poller->quiet[i] : &none,
                              i < quiet ? &polls[i] : &none))
                        return false;
        }
        memcpy(poller->quiet, polls, quiet * sizeof(*polls));
        poller->count = quiet;
        return true;
}

int poller_wait(struct poller *poller, struct pollfd *polls, size_t quiet, size_t count, int timeout)
{
        struct pollfd few[1 + POLLER_BUSY_MAX] = {{.fd = poller->epoll, .events = POLLIN}};
        size_t busy = count - quiet;
        if (!poller->epoll)
                return poll(polls, count, timeout);
        if (busy > POLLER_BUSY_MAX || !remember_all(poller, polls, quiet)) {
                poller_end(poller);
                return poll(polls, count, timeout);
        }
        memcpy(few + 1, polls + quiet, busy * sizeof(*polls));
        int ready = poll(few, 1 + busy, timeout);
        if (ready > 0 && few[0].revents) {
                ready = poll(polls, count, 0);
                if (ready == 0)
                        poller_end(poller);
                return ready;
        }
        for (size_t i = 0; i < quiet; i++)
                polls[i].revents = 0;
        memcpy(polls + quiet, few + 1, busy * sizeof(*polls));
        return ready;
}
