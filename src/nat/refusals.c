/* SPDX-License-Identifier: Apache-2.0
 *
 * See refusals.h.
 */
#include "nat/refusals.h"

#include "lib/clock.h"
#include "nat/wire.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { REFUSAL_MAX = NAT_TEXT_MAX / (NAT_REFUSALS_KEPT + 1) };

struct refusal {
        long long at; /* clock_now_ns() of the last time */
        char what[REFUSAL_MAX];
};

static struct {
        bool wanted;
        size_t count;
        struct refusal list[NAT_REFUSALS_KEPT]; /* ordered by `at` */
        long long forgotten_at;                 /* `at` of the last one that made room */
} refusals;

static void remove_refusal(size_t i)
{
        refusals.count--;
        memmove(&refusals.list[i], &refusals.list[i + 1], (refusals.count - i) * sizeof(*refusals.list));
}

void refusals_keep(const char *what)
{
        size_t same = 0;
        if (!refusals.wanted)
                return;
        while (same < refusals.count && strncmp(refusals.list[same].what, what, REFUSAL_MAX - 1) != 0)
                same++;
        if (same < refusals.count) {
                remove_refusal(same);
        } else if (refusals.count == NAT_REFUSALS_KEPT) {
                refusals.forgotten_at = refusals.list[0].at;
                remove_refusal(0);
        }
        struct refusal *refusal = &refusals.list[refusals.count++];
        refusal->at = clock_now_ns();
        snprintf(refusal->what, sizeof(refusal->what), "%s", what);
}

size_t refusals_write(long long since, char *out, size_t size)
{
        size_t length = 0;
        for (size_t i = 0; i < refusals.count; i++)
                if (refusals.list[i].at >= since)
                        length +=
                            (size_t)snprintf(out + length, size - length, "%s\n", refusals.list[i].what);
        if (refusals.forgotten_at >= since)
                length += (size_t)snprintf(out + length, size - length, "more\n");
        return length;
}

void refusals_start(void)
{
        refusals.wanted = true;
}
