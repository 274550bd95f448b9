/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock that deadlines and durations are counted by.
 */
#ifndef HUTCH_LIB_CLOCK_H
#define HUTCH_LIB_CLOCK_H

#include <time.h>

/* Milliseconds of CLOCK_MONOTONIC: it stands still while the machine sleeps and is never set. */
static inline long long clock_now_ms(void)
{
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Nanoseconds of the same, for what must be told apart although it followed at once. */
static inline long long clock_now_ns(void)
{
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000000000LL + now.tv_nsec;
}

#endif
