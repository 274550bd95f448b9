/* SPDX-License-Identifier: Apache-2.0
 *
 * See memory_watch.h.
 *
 * Theory of operation. The room that is left, divided by the fastest rate that is expected of a sandbox, is
 * the time in which the limit cannot be reached, so no look is needed before. A machine can write faster than
 * that: the manual says that a burst may exceed the limit.
 */
#include "ns/memory_watch.h"

#include "lib/fd.h"
#include "ns/layers.h"

#include <fcntl.h>
#include <stdlib.h>

enum {
        SCORE_TEXT_MAX = 64,
        SOONEST_MS = 10, /* bounds of the wait between two looks */
        LATEST_MS = 500,
        REST = 10, /* it sleeps at least this many times as long as a look took */
        /* So many looks in a row must be over the limit: processes that exit while they are being counted are
           counted for too much. */
        OVER_LOOKS = 3,
        OVER_WAIT_MS = 5, /* between two of these */
};

/* For oom_score_adj; the highest is 1000. */
#define SCORE "500"

/* Bytes per millisecond that a sandbox is expected to take at most; sets the wait before the next look. */
#define STORM_RATE (2ULL << 20)

void memory_watch_raise_oom_score(const struct entering *entering)
{
        static const char path[] = "/proc/self/oom_score_adj";
        char *text = NULL;
        if (!layer_enabled(LAYER_LIMITS) || entering->limits.memory != LIMIT_WATCHDOG ||
            fd_read_file(path, SCORE_TEXT_MAX, &text) < 0)
                return;
        autofree char *inherited = text;
        if (strtol(inherited, NULL, 10) < strtol(SCORE, NULL, 10))
                (void)fd_write_file(AT_FDCWD, path, SCORE);
}

enum control_type memory_watch_judge(struct memory_watch *watch, const struct memory_use *use,
                                     const struct limits *limits, uint64_t worked_us, int *wait)
{
        uint64_t limit = limits->memory_bytes;
        if (use->bytes > limit) {
                watch->over++;
                *wait = watch->over < OVER_LOOKS ? OVER_WAIT_MS : -1;
                return watch->over < OVER_LOOKS ? CONTROL_NONE : CONTROL_MEMORY;
        }
        watch->over = 0;
        uint64_t room = (limit - use->bytes) / STORM_RATE, rest = worked_us * REST / 1000;
        uint64_t next = room > rest ? room : rest;
        *wait = next < SOONEST_MS ? SOONEST_MS : next > LATEST_MS ? LATEST_MS : (int)next;
        if (use->tasks > limits->pids && !watch->reported_pids) {
                watch->reported_pids = true;
                return CONTROL_PIDS;
        }
        if (use->disk_full && !watch->reported_disk) {
                watch->reported_disk = true;
                return CONTROL_DISK;
        }
        return CONTROL_NONE;
}
