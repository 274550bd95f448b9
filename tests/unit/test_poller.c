/* SPDX-License-Identifier: Apache-2.0
 *
 * The poller reports what poll() would, whether it remembers descriptors or not.
 */
#include "run/poller.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "unit.h"

enum { PIPES = 26 };

static int reads[PIPES], writes[PIPES];
static struct poller poller;
static struct pollfd polls[PIPES];

static int make_pipes(void **state)
{
        (void)state;
        poller = (struct poller){0};
        for (int i = 0; i < PIPES; i++) {
                int ends[2];
                if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
                        return -1;
                reads[i] = ends[0];
                writes[i] = ends[1];
                polls[i] = (struct pollfd){.fd = reads[i], .events = POLLIN, .revents = -1};
        }
        return 0;
}

static int close_pipes(void **state)
{
        (void)state;
        poller_end(&poller);
        for (int i = 0; i < PIPES; i++) {
                close(reads[i]);
                close(writes[i]);
        }
        return 0;
}

/* Makes exactly these pipes readable (bits), polls, and compares. */
static void expect_ready(unsigned ready, size_t quiet, size_t count)
{
        int expected = 0;
        for (size_t i = 0; i < count; i++) {
                char drained[8];
                while (read(reads[i], drained, sizeof(drained)) > 0)
                        ;
                if (ready & 1U << i)
                        assert_int_equal(write(writes[i], "x", 1), 1);
                expected += (ready & 1U << i) != 0;
                polls[i].revents = -1;
        }
        assert_int_equal(poller_wait(&poller, polls, quiet, count, 0), expected);
        for (size_t i = 0; i < count; i++)
                assert_int_equal(polls[i].revents, ready & 1U << i ? POLLIN : 0);
}

static void test_as_poll(void **state)
{
        (void)state;
        expect_ready(0, 3, 5);
        expect_ready(1 | 16, 3, 5);
        assert_int_equal(poller.epoll, 0);
}

static void test_quiet_and_busy(void **state)
{
        (void)state;
        poller_begin(&poller);
        assert_true(poller.epoll > 0);
        for (unsigned ready = 0; ready < 32; ready++)
                expect_ready(ready, 3, 5);
        assert_true(poller.epoll > 0);
        /* What is remembered is in the epoll alone. */
        assert_int_equal(poller.count, 3);
        struct epoll_event event;
        expect_ready(0, 3, 5);
        assert_int_equal(write(writes[1], "x", 1), 1);
        assert_int_equal(epoll_wait(poller.epoll, &event, 1, 0), 1);
        char drained[8];
        assert_int_equal(read(reads[1], drained, sizeof(drained)), 1);
        assert_int_equal(write(writes[3], "x", 1), 1);
        assert_int_equal(epoll_wait(poller.epoll, &event, 1, 0), 0);
}

static void test_the_quiet_change(void **state)
{
        (void)state;
        poller_begin(&poller);
        expect_ready(2, 3, 5);
        polls[1].fd = -1; /* left out */
        assert_int_equal(write(writes[1], "x", 1), 1);
        assert_int_equal(poller_wait(&poller, polls, 3, 5, 0), 0);
        polls[1] = (struct pollfd){.fd = writes[1], .events = POLLOUT};
        assert_int_equal(poller_wait(&poller, polls, 3, 5, 0), 1);
        assert_int_equal(polls[1].revents, POLLOUT);
        polls[1].events = POLLIN;
        assert_int_equal(poller_wait(&poller, polls, 3, 5, 0), 0);
        polls[1].fd = reads[1];
        assert_int_equal(poller_wait(&poller, polls, 3, 5, 0), 1);
        for (size_t quiet = 0; quiet < 6; quiet++) {
                expect_ready(1 | 8, quiet, 6);
                assert_int_equal(poller.count, quiet);
        }
        expect_ready(1 | 8, 2, 4);
        assert_true(poller.epoll > 0);
}

static void test_more_than_it_remembers(void **state)
{
        (void)state;
        poller_begin(&poller);
        expect_ready(1 | 1 << 23, POLLER_QUIET_MAX, POLLER_QUIET_MAX + POLLER_BUSY_MAX);
        assert_true(poller.epoll > 0);
        expect_ready(1 | 1 << 16, POLLER_QUIET_MAX + 1, POLLER_QUIET_MAX + 2);
        assert_int_equal(poller.epoll, 0);
        poller_begin(&poller);
        expect_ready(1 | 1 << 9, 1, 1 + POLLER_BUSY_MAX + 1);
        assert_int_equal(poller.epoll, 0);
        expect_ready(2, 1, 3);
}

static void test_what_epoll_does_not_accept(void **state)
{
        (void)state;
        int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        poller_begin(&poller);
        polls[0].fd = file;
        assert_int_equal(poller_wait(&poller, polls, 2, 3, 0), 1); /* always readable */
        assert_int_equal(polls[0].revents, POLLIN);
        assert_int_equal(poller.epoll, 0);
        close(file);
}

/* A descriptor that another process has too stays in the epoll after it was closed here. */
static void test_a_closed_descriptor_that_is_held_elsewhere(void **state)
{
        (void)state;
        int held = fcntl(reads[0], F_DUPFD_CLOEXEC, 200);
        poller_begin(&poller);
        assert_int_equal(poller_wait(&poller, polls, 2, 3, 0), 0);
        close(reads[0]);
        assert_int_equal(write(writes[0], "x", 1), 1);
        polls[0].fd = -1;
        assert_int_equal(poller_wait(&poller, polls, 2, 3, 0), 0);
        assert_int_equal(poller.epoll, 0); /* or it would spin */
        assert_int_equal(write(writes[1], "x", 1), 1);
        assert_int_equal(poller_wait(&poller, polls, 2, 3, 0), 1);
        close(held);
}

#define PIPED(test) cmocka_unit_test_setup_teardown(test, make_pipes, close_pipes)

int main(void)
{
        const struct CMUnitTest tests[] = {
            PIPED(test_as_poll),
            PIPED(test_quiet_and_busy),
            PIPED(test_the_quiet_change),
            PIPED(test_more_than_it_remembers),
            PIPED(test_what_epoll_does_not_accept),
            PIPED(test_a_closed_descriptor_that_is_held_elsewhere),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
