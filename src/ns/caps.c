/* SPDX-License-Identifier: Apache-2.0
 *
 * See caps.h.
 */
#include "ns/caps.h"

#include "ns/layers.h"

#include <errno.h>
#include <linux/securebits.h>
#include <sys/capability.h>
#include <sys/prctl.h>

/* Every bit and its lock. Then neither being nor becoming uid 0 gives a capability, and none can be kept or
 * raised (capabilities(7), "The securebits flags"). */
enum {
        SECURE_BITS = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                      SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
                      SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED
};

/* Drops capability after capability; EINVAL means that the kernel knows no higher one. */
static int drop_bounding_set(void)
{
        for (cap_value_t capability = 0;; capability++)
                if (cap_drop_bound(capability) < 0)
                        return errno == EINVAL && capability > CAP_AUDIT_READ ? 0 : -errno;
}

void caps_drop(const struct entering *entering)
{
        /* From here on execve() ignores setuid bits and file capabilities, and seccomp and Landlock need no
         * capability. */
        if (layer_enabled(LAYER_NO_NEW_PRIVS) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                entering_fail(entering, STAGE_CAPABILITIES, errno, "no_new_privs");
        if (!layer_enabled(LAYER_CAPABILITIES))
                return;
        int error = drop_bounding_set();
        if (error < 0)
                entering_fail(entering, STAGE_CAPABILITIES, -error, "the bounding set");
        entering_check(entering, STAGE_CAPABILITIES, "securebits",
                       prctl(PR_SET_SECUREBITS, SECURE_BITS, 0, 0, 0));

        /* Empties the permitted, effective and inheritable sets; the kernel empties the ambient set with
         * them. They are read back, because a security module may have ignored the call. */
        cap_t none = cap_init(), now = NULL;
        if (!none || cap_set_proc(none) < 0 || !(now = cap_get_proc()) || cap_compare(none, now) != 0)
                entering_fail(entering, STAGE_CAPABILITIES, errno, "capabilities");
        cap_free(none);
        cap_free(now);
}
