/* SPDX-License-Identifier: Apache-2.0
 *
 * Giving up every capability of the sandbox's user namespace, for good, once nothing more is to be mounted.
 */
#include "ns/entering.h"

#include <errno.h>
#include <sys/capability.h>
#include <sys/prctl.h>

void caps_drop(const struct entering *entering)
{
        /* No new privileges: neither setuid bits nor file capabilities count in any execve() from here on, and
         * seccomp and Landlock may be loaded without a capability. */
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                entering_fail(entering, STAGE_CAPABILITIES, errno, "no_new_privs");

        /* libcap's NOPRIV mode: bounding and ambient sets emptied, securebits set and locked, then all three
         * process sets emptied (cap_set_mode(3)). */
        if (cap_set_mode(CAP_MODE_NOPRIV) < 0)
                entering_fail(entering, STAGE_CAPABILITIES, errno, "capabilities");
        if (cap_get_mode() != CAP_MODE_NOPRIV) /* read back: a security module may have answered "yes" */
                entering_fail(entering, STAGE_CAPABILITIES, EPERM, "capabilities");
}
