/* SPDX-License-Identifier: Apache-2.0
 *
 * See deadlines.h.
 */
#include "run/deadlines.h"

#include <stddef.h>

enum {
        GRACE_MAX_MS = 60000,     /* bounds a server that takes the rest of its input byte by byte */
        DRAIN_MS = 2000,          /* how long a client may take nothing */
        TIMEOUT_MAX_MS = 3600000, /* poll() takes an int */
};

void deadlines_set_once(struct deadlines *deadlines, enum deadline deadline, long long at)
{
        if (deadlines->at[deadline] == DEADLINE_NEVER)
                deadlines->at[deadline] = at;
}

bool deadlines_take(struct deadlines *deadlines, enum deadline deadline, long long now)
{
        if (deadlines->at[deadline] == DEADLINE_NEVER || now < deadlines->at[deadline])
                return false;
        deadlines->at[deadline] = DEADLINE_NEVER;
        return true;
}

int deadlines_timeout(const struct deadlines *deadlines, long long other, long long now)
{
        long long first = other;
        for (size_t i = 0; i < DEADLINES; i++)
                if (deadlines->at[i] != DEADLINE_NEVER &&
                    (first == DEADLINE_NEVER || deadlines->at[i] < first))
                        first = deadlines->at[i];
        if (first == DEADLINE_NEVER)
                return -1;
        long long left = first - now;
        return left < 0 ? 0 : left > TIMEOUT_MAX_MS ? TIMEOUT_MAX_MS : (int)left;
}

long long deadlines_extend_grace(struct grace *grace, unsigned long long given, unsigned grace_seconds,
                                 long long now)
{
        if (!grace->began)
                grace->ends_at_latest = now + GRACE_MAX_MS;
        else if (given == grace->given || now >= grace->ends_at_latest)
                return DEADLINE_NEVER;
        grace->began = true;
        grace->given = given;
        return now + grace_seconds * 1000LL;
}

bool deadlines_give_up_drain(struct deadlines *deadlines, unsigned long long taken,
                             unsigned long long *last_taken, long long now)
{
        long long *ends = &deadlines->at[DEADLINE_DRAIN];
        if (*ends != DEADLINE_NEVER && taken == *last_taken)
                return now >= *ends;
        *last_taken = taken;
        *ends = now + DRAIN_MS;
        return false;
}
