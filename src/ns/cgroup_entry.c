/* SPDX-License-Identifier: Apache-2.0
 *
 * See cgroup_entry.h.
 */
#include "ns/cgroup_entry.h"

#include "lib/fd.h"

#include <errno.h>
#include <sched.h>

void cgroup_entry_join(const struct entering *entering)
{
        int error = fd_write_file(entering->group, "cgroup.procs", "0");
        if (error < 0)
                entering_fail(entering, STAGE_LIMIT, -error, "cgroup");
}

void cgroup_entry_await(struct entering *entering)
{
        unsigned char holds;
        if (entering->permission >= 0) {
                /* End of file: the supervisor has gone. */
                if (read(entering->permission, &holds, 1) != 1)
                        _exit(EXIT_SETUP);
                fd_close(&entering->permission);
                limits_settle(&entering->limits, holds, entering->box->outer_uid, entering->box->proc, "");
        }
        /* Not in the clone: the root of the namespace is the cgroup that its maker is in at that moment. */
        if (entering->cgroup_namespace && unshare(CLONE_NEWCGROUP) < 0)
                entering_fail(entering, STAGE_LIMIT, errno, "cgroup");
}
