/* SPDX-License-Identifier: Apache-2.0
 *
 * When the supervisor acts, and how long it waits for a server and for a client. The test is the clock.
 */
#include "run/deadlines.h"

#include "unit.h"

static struct deadlines deadlines;

static int begin(void **state)
{
        (void)state;
        deadlines = DEADLINES_NONE;
        return 0;
}

static void test_each_comes_once(void **state)
{
        (void)state;
        for (enum deadline i = 0; i < DEADLINES; i++) {
                assert_false(deadlines_take(&deadlines, i, 1LL << 60)); /* never */
                deadlines.at[i] = 100;
                assert_false(deadlines_take(&deadlines, i, 99));
                assert_true(deadlines_take(&deadlines, i, 100));
                assert_false(deadlines_take(&deadlines, i, 101));
        }
        deadlines.at[DEADLINE_KILL] = 0; /* is a moment too */
        assert_true(deadlines_take(&deadlines, DEADLINE_KILL, 0));
}

static void test_the_first_of_two_holds(void **state)
{
        (void)state;
        deadlines_set_once(&deadlines, DEADLINE_KILL, 100);
        deadlines_set_once(&deadlines, DEADLINE_KILL, 200);
        assert_int_equal(deadlines.at[DEADLINE_KILL], 100);
        assert_true(deadlines_take(&deadlines, DEADLINE_KILL, 100));
        deadlines_set_once(&deadlines, DEADLINE_KILL, 300);
        assert_int_equal(deadlines.at[DEADLINE_KILL], 300);
}

static void test_how_long_to_poll(void **state)
{
        (void)state;
        assert_int_equal(deadlines_timeout(&deadlines, DEADLINE_NEVER, 50), -1);
        assert_int_equal(deadlines_timeout(&deadlines, 80, 50), 30);
        deadlines.at[DEADLINE_TERM] = 70;
        assert_int_equal(deadlines_timeout(&deadlines, DEADLINE_NEVER, 50), 20);
        assert_int_equal(deadlines_timeout(&deadlines, 80, 50), 20);
        assert_int_equal(deadlines_timeout(&deadlines, 60, 50), 10);
        deadlines.at[DEADLINE_SETTLE] = 90;
        deadlines.at[DEADLINE_DRAIN] = 65;
        assert_int_equal(deadlines_timeout(&deadlines, DEADLINE_NEVER, 50), 15);
        assert_int_equal(deadlines_timeout(&deadlines, DEADLINE_NEVER, 65), 0);
        assert_int_equal(deadlines_timeout(&deadlines, DEADLINE_NEVER, 1000), 0);
        /* poll() counts in an int: a far deadline is come to in steps. */
        assert_int_equal(deadlines_timeout(&deadlines, DEADLINE_NEVER, 65 - 3600000), 3600000);
        assert_int_equal(deadlines_timeout(&deadlines, DEADLINE_NEVER, 65 - 3600001), 3600000);
        assert_int_equal(deadlines_timeout(&deadlines, DEADLINE_NEVER, -(1LL << 40)), 3600000);
}

static void test_grace(void **state)
{
        struct grace grace = {0};
        (void)state;
        assert_int_equal(deadlines_extend_grace(&grace, 10, 5, 1000), 6000);
        /* It stands still: the grace goes on. */
        assert_int_equal(deadlines_extend_grace(&grace, 10, 5, 2000), DEADLINE_NEVER);
        /* It takes more: the grace begins again. */
        assert_int_equal(deadlines_extend_grace(&grace, 11, 5, 3000), 8000);
        assert_int_equal(deadlines_extend_grace(&grace, 11, 5, 4000), DEADLINE_NEVER);
        /* But not for ever. */
        assert_int_equal(deadlines_extend_grace(&grace, 12, 5, 60999), 65999);
        assert_int_equal(deadlines_extend_grace(&grace, 13, 5, 61000), DEADLINE_NEVER);
}

static void test_no_grace(void **state)
{
        struct grace grace = {0};
        (void)state;
        assert_int_equal(deadlines_extend_grace(&grace, 0, 0, 1000), 1000);
        assert_int_equal(deadlines_extend_grace(&grace, 0, 0, 1000), DEADLINE_NEVER);
}

static void test_draining(void **state)
{
        unsigned long long last = 0;
        (void)state;
        assert_false(deadlines_give_up_drain(&deadlines, 0, &last, 1000));
        assert_int_equal(deadlines.at[DEADLINE_DRAIN], 3000);
        assert_false(deadlines_give_up_drain(&deadlines, 0, &last, 2999));
        assert_false(deadlines_give_up_drain(&deadlines, 7, &last, 2999)); /* it took something */
        assert_int_equal(deadlines.at[DEADLINE_DRAIN], 4999);
        assert_false(deadlines_give_up_drain(&deadlines, 7, &last, 4998));
        assert_false(deadlines_give_up_drain(&deadlines, 8, &last, 9000)); /* late, but it takes */
        assert_true(deadlines_give_up_drain(&deadlines, 8, &last, 11000));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup(test_each_comes_once, begin),
            cmocka_unit_test_setup(test_the_first_of_two_holds, begin),
            cmocka_unit_test_setup(test_how_long_to_poll, begin),
            cmocka_unit_test(test_grace),
            cmocka_unit_test(test_no_grace),
            cmocka_unit_test_setup(test_draining, begin),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
