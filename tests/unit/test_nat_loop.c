/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop of hutch-nat: what an event may do to other sources of its turn, the order of timers, the hook,
 * and what waits for the end of a turn.
 */
#include "nat_rig.h"

#include "lib/clock.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/resource.h>

/* Two sources that become ready in one turn. The first one to run closes the other. */
static struct pair {
        struct source source;
        struct pair *other;
        int calls;
} pair[2];

static void close_other(struct source *source)
{
        struct pair *mine = OWNER(source, struct pair, source);
        CHECK(source->reported & EPOLLIN);
        mine->calls++;
        source_close(&mine->other->source);
}

static void closed_in_its_turn(void)
{
        int descriptors[2];
        rig_start(NULL, NULL, false);
        for (int i = 0; i < 2; i++) {
                int ends[2];
                CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && write(ends[1], "x", 1) == 1);
                pair[i].other = &pair[!i];
                descriptors[i] = ends[0];
                CHECK(source_add(&pair[i].source, ends[0], EPOLLIN, close_other));
        }
        loop_turn();
        CHECK(pair[0].calls + pair[1].calls == 1);
        CHECK((pair[0].source.descriptor < 0) != (pair[1].source.descriptor < 0));
        CHECK((fcntl(descriptors[0], F_GETFD) < 0) != (fcntl(descriptors[1], F_GETFD) < 0));
        loop_turn();
        CHECK(pair[0].calls + pair[1].calls == 2);
}
TEST_IN_CHILD(closed_in_its_turn)

static int calls;

static void count_call(struct source *source)
{
        (void)source;
        calls++;
}

/* A hook that wants its turn at once, so that a turn never waits. */
static int at_once(void)
{
        return 0;
}
static int hook_calls;
static void hook(void)
{
        hook_calls++;
}

static void wanted_events(void)
{
        int ends[2];
        struct source source;
        rig_start(NULL, NULL, false);
        loop_set_hook(at_once, hook);
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && write(ends[1], "x", 1) == 1);
        CHECK(source_add(&source, ends[0], EPOLLIN, count_call));
        loop_turn();
        CHECK(calls == 1);
        source_want(&source, 0);
        loop_turn();
        CHECK(calls == 1);
        source_want(&source, EPOLLIN);
        loop_turn();
        CHECK(calls == 2);
        source_detach(&source);
        loop_turn();
        CHECK(calls == 2 && fcntl(ends[0], F_GETFD) >= 0 && hook_calls == 4);
}
TEST_IN_CHILD(wanted_events)

static struct timer *fired[4];
static size_t fired_count;

static void note_fired(struct timer *timer)
{
        CHECK(fired_count < COUNT(fired) && timer->due <= nat.now && !timer->next);
        fired[fired_count++] = timer;
}

static void timers(void)
{
        struct timer first = {0}, second = {0}, stopped = {0}, longer = {0};
        rig_start(NULL, NULL, false);
        long long began = clock_now_ms();
        nat.now = began;
        CHECK(!timer_first(TIMER_FAMILY));
        timer_start(&longer, TIMER_ATTEMPT, note_fired);
        timer_start(&first, TIMER_FAMILY, note_fired);
        timer_start(&stopped, TIMER_FAMILY, note_fired);
        timer_start(&second, TIMER_FAMILY, note_fired);
        CHECK(timer_first(TIMER_FAMILY) == &first && timer_first(TIMER_ATTEMPT) == &longer);
        timer_stop(&stopped);
        timer_stop(&stopped);
        loop_turn();
        CHECK(fired_count == 2 && fired[0] == &first && fired[1] == &second && nat.now >= began + 50);
        CHECK(!timer_first(TIMER_FAMILY));
        loop_turn();
        CHECK(fired_count == 3 && fired[2] == &longer && nat.now >= began + 250);
}
TEST_IN_CHILD(timers)

/* Starting a timer that runs moves it behind the others. */
static void started_again(void)
{
        struct timer first = {0}, second = {0};
        rig_start(NULL, NULL, false);
        timer_start(&first, TIMER_IDLE, note_fired);
        timer_start(&second, TIMER_IDLE, note_fired);
        nat.now += 10;
        timer_start(&first, TIMER_IDLE, note_fired);
        CHECK(timer_first(TIMER_IDLE) == &second && second.next == &first);
        CHECK(first.due == second.due + 10 && first.due == nat.now + 60000);
}
TEST_IN_CHILD(started_again)

/* The hook has its turn although no timer is due and nothing happens. */
static void hook_without_events(void)
{
        struct timer timer = {0};
        rig_start(NULL, NULL, false);
        timer_start(&timer, TIMER_IDLE, note_fired);
        loop_set_hook(at_once, hook);
        loop_turn();
        CHECK(hook_calls == 1 && fired_count == 0);
}
TEST_IN_CHILD(hook_without_events)

static int to_close = -1, peer = -1;
static void *to_free;

static bool is_closed(int other_end)
{
        char byte;
        return recv(other_end, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

static void leave_for_later(struct source *source)
{
        loop_free_later(to_free);
        loop_close_later(to_close);
        CHECK(!is_closed(peer));
        memset(to_free, 1, 100); /* a sanitizer reports it when it was freed */
        source_detach(source);
}

static void end_of_turn(void)
{
        int ends[2], closing[2];
        struct source source;
        rig_start(NULL, NULL, false);
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && write(ends[1], "x", 1) == 1);
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, closing) == 0);
        to_close = closing[0];
        peer = closing[1];
        to_free = malloc(100);
        CHECK(source_add(&source, ends[0], EPOLLIN, leave_for_later));
        loop_turn();
        CHECK(is_closed(peer));
}
TEST_IN_CHILD(end_of_turn)

/* More descriptors than may wait are closed at once. */
static void bounded_closings(void)
{
        rig_start(NULL, NULL, false);
        int last = -1;
        for (int i = 0; i < 17; i++) {
                int ends[2];
                CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
                CHECK(last < 0 || !is_closed(last));
                loop_close_later(ends[0]);
                last = ends[1];
        }
        CHECK(is_closed(last));
}
TEST_IN_CHILD(bounded_closings)

/* Without a descriptor for the next connection the acceptor waits instead of keeping the loop busy. */
static void no_descriptor(void)
{
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t length = sizeof(address);
        struct acceptor acceptor = {0};
        struct rlimit limit;
        rig_start(NULL, NULL, false);
        int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0),
            client = socket(AF_INET, SOCK_STREAM, 0);
        CHECK(bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 8) == 0);
        CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
        CHECK(source_add(&acceptor.source, listener, EPOLLIN, count_call));
        CHECK(acceptor_next(&acceptor) == -1 && errno == EAGAIN && acceptor.source.events == EPOLLIN);
        CHECK(connect(client, (struct sockaddr *)&address, length) == 0);
        CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
        struct rlimit none = {.rlim_cur = 3, .rlim_max = limit.rlim_max};
        CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
        CHECK(acceptor_next(&acceptor) == -1 && errno == EMFILE && acceptor.source.events == 0);
        CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        CHECK(timer_first(TIMER_ATTEMPT) == &acceptor.pause);
        loop_turn();
        CHECK(calls == 0 && acceptor.source.events == EPOLLIN);
        loop_turn();
        CHECK(calls == 1 && acceptor_next(&acceptor) >= 0);
}
TEST_IN_CHILD(no_descriptor)

static bool was_busy;

static void note_busy(struct source *source)
{
        was_busy = nat.busy;
        source_detach(source);
}

static void busy(void)
{
        struct source sources[5];
        rig_start(NULL, NULL, false);
        for (size_t count = 4; count <= 5; count++) {
                for (size_t i = 0; i < count; i++) {
                        int ends[2];
                        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && write(ends[1], "x", 1) == 1);
                        CHECK(source_add(&sources[i], ends[0], EPOLLIN, note_busy));
                }
                loop_turn();
                CHECK(was_busy == (count == 5));
        }
}
TEST_IN_CHILD(busy)

static void flows_for_descriptors(void)
{
        static const size_t rows[][2] = {{0, 1}, {66, 1}, {68, 2}, {1024, 480}};
        for (size_t i = 0; i < COUNT(rows); i++) {
                CHECK(nat_start(rows[i][0]));
                CHECK(nat.flows_max == rows[i][1]);
        }
}
TEST_IN_CHILD(flows_for_descriptors)

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_closed_in_its_turn),
            cmocka_unit_test(test_wanted_events),
            cmocka_unit_test(test_timers),
            cmocka_unit_test(test_started_again),
            cmocka_unit_test(test_hook_without_events),
            cmocka_unit_test(test_end_of_turn),
            cmocka_unit_test(test_bounded_closings),
            cmocka_unit_test(test_no_descriptor),
            cmocka_unit_test(test_busy),
            cmocka_unit_test(test_flows_for_descriptors),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
