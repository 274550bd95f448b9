/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock for deadlines and durations.
 */
#ifndef HUTCH_LIB_CLOCK_H
#define HUTCH_LIB_CLOCK_H

#include <time.h>

/* Milliseconds of CLOCK_MONOTONIC, which stops while the machine sleeps and is never set. */
static inline long long clock_now_ms(void)
{
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* The same in nanoseconds, to tell apart events that follow each other at once. */
static inline long long clock_now_ns(void)
{
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000000000LL + now.tv_nsec;
}

#endif
