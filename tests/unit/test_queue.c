/* SPDX-License-Identifier: Apache-2.0
 *
 * The bounded stderr queue: order, whole lines of hutch's own, the bound and what is said about it.
 */
#include "run/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int make_queue(void **state)
{
        *state = calloc(1, sizeof(struct queue));
        return *state ? 0 : -1;
}

static int free_queue(void **state)
{
        free(*state);
        return 0;
}

static void put(struct queue *queue, const char *text)
{
        char *where = NULL;

        assert_true(queue_room(queue, &where) >= strlen(text));
        memcpy(where, text, strlen(text));
        queue_put(queue, strlen(text));
}

static void say(struct queue *queue, const char *line)
{
        queue_add_line(queue, line, strlen(line));
}

static void assert_written(struct queue *queue, const char *expected)
{
        const char *data;
        size_t length = queue_front(queue, &data);

        assert_int_equal(length, strlen(expected));
        assert_memory_equal(data, expected, length);
        queue_took(queue, length);
}

/* Fills it until the server's bytes are refused, with lines of 64 bytes; returns how many bytes it took. */
static size_t fill(struct queue *queue)
{
        size_t total = 0;
        size_t room;
        char *where;

        while ((room = queue_room(queue, &where)) > 0) {
                memset(where, 'f', room);
                where[room - 1] = '\n';
                queue_put(queue, room);
                total += room;
        }
        return total;
}

static void order_is_kept(void **state)
{
        struct queue *queue = *state;

        put(queue, "one\n");
        say(queue, "[hutch] two\n");
        put(queue, "three\n");
        assert_written(queue, "one\n[hutch] two\nthree\n");
        assert_int_equal(queue->end, 0);
}

static void own_line_waits_for_the_end_of_a_line(void **state)
{
        struct queue *queue = *state;

        put(queue, "half ");
        say(queue, "[hutch] a\n");
        say(queue, "[hutch] b\n");
        queue_settle(queue, false);
        assert_written(queue, "half ");
        put(queue, "line\nnext\nthird, ");
        assert_written(queue, "line\nnext\n[hutch] a\n[hutch] b\nthird, ");
        put(queue, "ended\n");
        assert_written(queue, "ended\n");
}

static void own_line_does_not_wait_for_ever(void **state)
{
        struct queue *queue = *state;

        put(queue, "Password: ");
        say(queue, "[hutch] a\n");
        queue_settle(queue, true);
        assert_written(queue, "Password: \n[hutch] a\n");
        say(queue, "[hutch] b\n"); /* the client stands at the beginning of a line now */
        assert_written(queue, "[hutch] b\n");
}

static void many_waiting_lines_stay_whole(void **state)
{
        struct queue *queue = *state;
        char line[100];
        size_t total = strlen("half \n");
        const char *data;

        put(queue, "half ");
        for (int i = 0; i < 200; i++) {
                snprintf(line, sizeof line,
                         "[hutch] line %d of more than may wait, so the server's is ended\n", i);
                say(queue, line);
                total += strlen(line);
        }
        queue_settle(queue, true);
        assert_int_equal(queue_front(queue, &data), total);
        assert_memory_equal(data, "half \n[hutch] line 0 ", 21);
        assert_int_equal(queue->dropped_lines, 0);
}

static void full_queue_drops_and_tells(void **state)
{
        struct queue *queue = *state;
        size_t taken = fill(queue);
        const char *data;
        char *where;

        assert_in_range(taken, QUEUE_SIZE / 2, QUEUE_SIZE - QUEUE_OWN);
        queue_drop(queue, 1000);
        queue_drop(queue, 234);
        queue_settle(queue, false);
        assert_int_equal(queue_front(queue, &data), taken); /* no room to tell yet */

        say(queue, "[hutch] own lines still have their place\n");
        queue_took(queue, taken - 10);
        assert_int_equal(queue_room(queue, &where), 0); /* not before what was dropped is told */
        queue_settle(queue, false);
        queue_took(queue, 10);
        assert_written(queue, "[hutch] own lines still have their place\n"
                              "[hutch] 1234 bytes of the server's stderr were dropped\n");
        put(queue, "again\n");
        queue_drop(queue, 5); /* counted anew */
        queue_settle(queue, false);
        assert_written(queue, "again\n[hutch] 5 bytes of the server's stderr were dropped\n");
}

static void own_lines_are_bounded_too(void **state)
{
        struct queue *queue = *state;
        const char *line = "[hutch] 0123456789012345678901234567890123456789012345678901234567890123456789\n";
        size_t said = 2 * QUEUE_SIZE / strlen(line);
        const char *data;
        size_t length;
        char expected[100];

        for (size_t i = 0; i < said; i++)
                say(queue, line);
        length = queue_front(queue, &data);
        assert_in_range(length, QUEUE_SIZE - 2 * strlen(line), QUEUE_SIZE);
        assert_int_equal(length % strlen(line), 0);
        queue_took(queue, length);
        queue_settle(queue, false);
        snprintf(expected, sizeof expected, "[hutch] %zu lines of hutch were dropped\n",
                 said - length / strlen(line));
        assert_written(queue, expected);
}

static void slow_reader_gets_everything_in_order(void **state)
{
        struct queue *queue = *state;
        unsigned next_in = 0;
        unsigned next_out = 0;

        /* Three quarters full all the time, so that the buffer is moved down again and again. */
        for (int round = 0; round < 20000; round++) {
                const char *data;
                char *where;

                while (queue_front(queue, &data) < QUEUE_SIZE / 3 && queue_room(queue, &where) >= 8) {
                        snprintf(where, 9, "%07u\n", next_in++);
                        queue_put(queue, 8);
                }
                for (int i = 0; i < 50; i++) {
                        assert_true(queue_front(queue, &data) >= 8);
                        assert_int_equal(strtoul(data, NULL, 10), next_out++);
                        queue_took(queue, 8);
                }
        }
        assert_false(queue->dropping);
}

static void what_is_pending(void **state)
{
        struct queue *queue = *state;

        assert_false(queue_is_pending(queue));
        put(queue, "half");
        assert_true(queue_is_pending(queue));
        queue_settle(queue, true); /* nothing waits, so the server's line goes on */
        assert_written(queue, "half");
        assert_false(queue_is_pending(queue));
        say(queue, "[hutch] a\n"); /* waits for the end of the line */
        assert_true(queue_is_pending(queue));
        put(queue, "\n");
        assert_written(queue, "\n[hutch] a\n");
        assert_false(queue_is_pending(queue));
        queue_drop(queue, 1); /* is to be told */
        assert_true(queue_is_pending(queue));
        queue_forget(queue);
        assert_false(queue_is_pending(queue));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(order_is_kept, make_queue, free_queue),
            cmocka_unit_test_setup_teardown(own_line_waits_for_the_end_of_a_line, make_queue, free_queue),
            cmocka_unit_test_setup_teardown(own_line_does_not_wait_for_ever, make_queue, free_queue),
            cmocka_unit_test_setup_teardown(many_waiting_lines_stay_whole, make_queue, free_queue),
            cmocka_unit_test_setup_teardown(full_queue_drops_and_tells, make_queue, free_queue),
            cmocka_unit_test_setup_teardown(own_lines_are_bounded_too, make_queue, free_queue),
            cmocka_unit_test_setup_teardown(what_is_pending, make_queue, free_queue),
            cmocka_unit_test_setup_teardown(slow_reader_gets_everything_in_order, make_queue, free_queue),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
