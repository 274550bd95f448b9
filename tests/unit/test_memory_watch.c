/* SPDX-License-Identifier: Apache-2.0
 *
 * What the watchdog concludes from a measurement.
 */
#include "ns/memory_watch.h"

#include "unit.h"

#define MIB (1ULL << 20)

static const struct limits limits = {.memory_bytes = 1000 * MIB, .pids = 50};

static struct memory_watch watch;

static int begin_watch(void **state)
{
        (void)state;
        watch = (struct memory_watch){0};
        return 0;
}

static int wait_after(uint64_t bytes, uint64_t worked_us)
{
        int wait = -2;
        struct memory_use use = {.bytes = bytes};
        assert_int_equal(memory_watch_judge(&watch, &use, &limits, worked_us, &wait), CONTROL_NONE);
        return wait;
}

static void test_less_room_means_sooner(void **state)
{
        (void)state;
        assert_int_equal(wait_after(0, 0), 500);
        assert_int_equal(wait_after(200 * MIB, 0), 400);
        assert_int_equal(wait_after(900 * MIB, 0), 50);
        assert_int_equal(wait_after(980 * MIB, 0), 10);
        assert_int_equal(wait_after(999 * MIB, 0), 10);
        assert_int_equal(wait_after(1000 * MIB, 0), 10); /* the limit itself may be held */
}

/* A storm of processes must not make the watchdog the largest user of the processor. */
static void test_a_long_look_is_followed_by_a_long_rest(void **state)
{
        (void)state;
        assert_int_equal(wait_after(999 * MIB, 8000), 80);
        assert_int_equal(wait_after(900 * MIB, 8000), 80);
        assert_int_equal(wait_after(200 * MIB, 8000), 400);
        assert_int_equal(wait_after(999 * MIB, 1000000), 500);
}

static void test_three_looks_in_a_row_are_over(void **state)
{
        struct memory_use over = {.bytes = 1000 * MIB + 1, .tasks = 99, .disk_full = true};
        int wait;
        (void)state;
        for (int round = 0; round < 2; round++) {
                for (int i = 0; i < 2; i++) {
                        assert_int_equal(memory_watch_judge(&watch, &over, &limits, 0, &wait), CONTROL_NONE);
                        assert_int_equal(wait, 5);
                }
                if (round == 0)
                        (void)wait_after(1000 * MIB, 0); /* not in a row */
        }
        assert_int_equal(memory_watch_judge(&watch, &over, &limits, 0, &wait), CONTROL_MEMORY);
        assert_int_equal(wait, -1);
}

static void test_events_that_are_reported_once(void **state)
{
        struct memory_use use = {.tasks = 50};
        int wait;
        (void)state;
        assert_int_equal(memory_watch_judge(&watch, &use, &limits, 0, &wait), CONTROL_NONE);
        use = (struct memory_use){.tasks = 51, .disk_full = true};
        assert_int_equal(memory_watch_judge(&watch, &use, &limits, 0, &wait), CONTROL_PIDS);
        assert_int_equal(memory_watch_judge(&watch, &use, &limits, 0, &wait), CONTROL_DISK);
        assert_int_equal(memory_watch_judge(&watch, &use, &limits, 0, &wait), CONTROL_NONE);
        assert_int_equal(wait, 500);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup(test_less_room_means_sooner, begin_watch),
            cmocka_unit_test_setup(test_a_long_look_is_followed_by_a_long_rest, begin_watch),
            cmocka_unit_test_setup(test_three_looks_in_a_row_are_over, begin_watch),
            cmocka_unit_test_setup(test_events_that_are_reported_once, begin_watch),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
