/* SPDX-License-Identifier: Apache-2.0
 *
 * See userns.h. The maps and the budgets are written through the host's /proc, which is still visible then:
 * the files of /proc/sys/user always show the namespace of the process that opens them.
 */
#include "ns/userns.h"

#include "lib/fd.h"
#include "ns/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>

static void write_id_map(const struct entering *entering, const char *path, id_t outer)
{
        char line[64];
        (void)snprintf(line, sizeof(line), "%d %u 1", BOX_ID, outer);
        int error = fd_write_file(AT_FDCWD, path, line);
        if (error < 0)
                entering_fail(entering, STAGE_ID_MAP, -error, path);
}

void userns_map_ids(const struct entering *entering)
{
        if (!layer_enabled(LAYER_USER))
                return;
        /* Without privilege the kernel accepts a group map only when setgroups(2) is denied
         * (user_namespaces(7)). The process keeps the caller's supplementary groups, unmapped. */
        int error = fd_write_file(AT_FDCWD, "/proc/self/setgroups", "deny");
        if (error < 0)
                entering_fail(entering, STAGE_ID_MAP, -error, "/proc/self/setgroups");
        write_id_map(entering, "/proc/self/uid_map", entering->box->outer_uid);
        write_id_map(entering, "/proc/self/gid_map", entering->box->outer_gid);

        /* Pid 1 is a copy of the supervisor, memory included. While it is not dumpable, the server can
         * neither trace it nor read its /proc/1/mem, maps, environ or fd. This follows the maps because the
         * files of a non-dumpable process belong to root. */
        entering_check(entering, STAGE_ID_MAP, NULL, prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}

void userns_set_budgets(const struct entering *entering)
{
        if (!layer_enabled(LAYER_BUDGETS))
                return;
        /* The kernel charges these objects to the user namespace and to all its parents. Without a budget one
         * sandbox can take the user's last inotify instance (by default the host has 128 for all of a user's
         * programs). */
        static const struct {
                const char *path, *value;
                enum userns_mode kept_from; /* this mode and the wider ones keep the inherited budget */
        } budgets[] = {
            {"/proc/sys/user/max_user_namespaces", "0", USERNS_ALLOWED},
            /* In a cgroup namespace a nested sandbox could mount the caller's cgroup and kill what is in it.
             * `full` keeps them because bubblewrap asks for one. */
            {"/proc/sys/user/max_cgroup_namespaces", "0", USERNS_FULL},
            /* In a mount namespace it could mount memory file systems that no limit counts. (Each tree that
             * hutch clones needs one for a moment: no step clones a tree after this one.) */
            {"/proc/sys/user/max_mnt_namespaces", "0", USERNS_FULL},
            {"/proc/sys/user/max_inotify_instances", "32", USERNS_FULL + 1},
            {"/proc/sys/user/max_inotify_watches", "16384", USERNS_FULL + 1},
            {"/proc/sys/user/max_fanotify_groups", "0", USERNS_FULL + 1},
        };

        for (size_t i = 0; i < sizeof(budgets) / sizeof(*budgets); i++) {
                if (entering->box->userns >= budgets[i].kept_from)
                        continue;
                int error = fd_write_file(AT_FDCWD, budgets[i].path, budgets[i].value);
                /* A kernel without inotify or fanotify has neither the objects nor their budget. */
                if (error < 0 && !(error == -ENOENT && budgets[i].kept_from > USERNS_FULL))
                        entering_fail(entering, STAGE_BUDGET, -error, budgets[i].path);
        }
}
