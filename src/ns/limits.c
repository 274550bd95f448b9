/* SPDX-License-Identifier: Apache-2.0
 *
 * Resource limits that hold for each process of the sandbox. They only ever lower what the caller has.
 */
#include "ns/entering.h"

#include <errno.h>
#include <sys/resource.h>

void limits_set(const struct entering *entering)
{
        static const struct {
                __rlimit_resource_t resource;
                rlim_t most;
                const char *name;
        } limits[] = {
            {RLIMIT_CORE, 0, "core"}, /* no dump of secrets, and no helper that core_pattern names */
            {RLIMIT_NOFILE, 4096, "nofile"},
            {RLIMIT_SIGPENDING, 4096, "sigpending"}, /* the kernel counts these per user, not per sandbox: */
            {RLIMIT_MSGQUEUE, 65536, "msgqueue"},    /* without a bound one sandbox could use them up */
            {RLIMIT_MEMLOCK, 65536, "memlock"},
            {RLIMIT_RTPRIO, 0, "rtprio"},
        };

        for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
                struct rlimit limit;
                if (getrlimit(limits[i].resource, &limit) < 0)
                        entering_fail(entering, STAGE_LIMIT, errno, limits[i].name);
                if (limit.rlim_max > limits[i].most)
                        limit.rlim_max = limits[i].most;
                /* Sources of grants are still held open; the server gets the caller's own bound later. */
                if (limits[i].resource == RLIMIT_NOFILE)
                        limit.rlim_cur = limit.rlim_max;
                if (limit.rlim_cur > limit.rlim_max)
                        limit.rlim_cur = limit.rlim_max;
                if (setrlimit(limits[i].resource, &limit) < 0)
                        entering_fail(entering, STAGE_LIMIT, errno, limits[i].name);
        }
}

void limits_set_open_files(const struct entering *entering)
{
        struct rlimit limit;
        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                entering_fail(entering, STAGE_LIMIT, errno, "nofile");
        if (limit.rlim_cur > entering->box->open_files)
                limit.rlim_cur = entering->box->open_files;
        if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
                entering_fail(entering, STAGE_LIMIT, errno, "nofile");
}
