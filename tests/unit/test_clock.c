/* SPDX-License-Identifier: Apache-2.0
 *
 * The two units of the clock.
 */
#include "lib/clock.h"

#include "unit.h"

static void test_units(void **state)
{
        struct timespec before, after;
        (void)state;
        clock_gettime(CLOCK_MONOTONIC, &before);
        long long milliseconds = clock_now_ms(), nanoseconds = clock_now_ns();
        clock_gettime(CLOCK_MONOTONIC, &after);
        assert_true(milliseconds >= before.tv_sec * 1000LL + before.tv_nsec / 1000000);
        assert_true(milliseconds <= after.tv_sec * 1000LL + after.tv_nsec / 1000000);
        assert_true(nanoseconds >= before.tv_sec * 1000000000LL + before.tv_nsec);
        assert_true(nanoseconds <= after.tv_sec * 1000000000LL + after.tv_nsec);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_units)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
