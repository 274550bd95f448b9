/* SPDX-License-Identifier: Apache-2.0
 *
 * The user namespace: one id, the caller's, which inside is BOX_ID; and the budgets of kernel objects that
 * the kernel counts per user namespace. Both are written through the host's /proc, which is still there: the
 * files of /proc/sys/user always speak of the namespace of the process that opens them.
 */
#include "lib/fd.h"
#include "ns/entering.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>

static int write_file(const char *path, const char *text, size_t length)
{
        autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        return fd_write_all(fd, text, length);
}

static void write_id_map(const struct entering *entering, const char *path, id_t outer)
{
        char line[64];
        int length = snprintf(line, sizeof(line), "%d %u 1", BOX_ID, outer);
        int error = write_file(path, line, (size_t)length);
        if (error < 0)
                entering_fail(entering, STAGE_ID_MAP, -error, path);
}

void userns_map_ids(const struct entering *entering)
{
        /* Without privilege the kernel accepts a group map only when setgroups(2) is given up
         * (user_namespaces(7)); the caller's supplementary groups stay what they are, unmapped. */
        int error = write_file("/proc/self/setgroups", "deny", 4);
        if (error < 0)
                entering_fail(entering, STAGE_ID_MAP, -error, "/proc/self/setgroups");
        write_id_map(entering, "/proc/self/uid_map", entering->box->outer_uid);
        write_id_map(entering, "/proc/self/gid_map", entering->box->outer_gid);

        /* Pid 1 is a copy of the supervisor, memory included. Non-dumpable, the server can neither trace it
         * nor read its /proc/1/mem, maps, environ or fd. This comes after the maps: the files of a
         * non-dumpable process belong to root. */
        if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
                entering_fail(entering, STAGE_ID_MAP, errno, NULL);
}

void userns_set_budgets(const struct entering *entering)
{
        /* The kernel charges these objects to the user namespace and to every parent: without a bound here
         * one sandbox can take the user's last inotify instance (the host's default is 128 for all of them).
         */
        static const struct {
                const char *path, *value;
                enum userns_mode kept_from; /* not lowered from this kind of sandbox on */
        } budgets[] = {
            {"/proc/sys/user/max_user_namespaces", "0", USERNS_ALLOWED},
            /* With one of its own a nested sandbox could mount the caller's control group and end what is in
             * it. Only `full` keeps them, because bubblewrap asks for one. */
            {"/proc/sys/user/max_cgroup_namespaces", "0", USERNS_FULL},
            /* Nor has it a mount namespace, to mount file systems in memory that nothing counts. (Every tree
             * that hutch clones has one for a while: it clones none after this.) */
            {"/proc/sys/user/max_mnt_namespaces", "0", USERNS_FULL},
            {"/proc/sys/user/max_inotify_instances", "32", USERNS_FULL + 1},
            {"/proc/sys/user/max_inotify_watches", "16384", USERNS_FULL + 1},
            {"/proc/sys/user/max_fanotify_groups", "0", USERNS_FULL + 1},
        };

        for (size_t i = 0; i < sizeof(budgets) / sizeof(*budgets); i++) {
                if (entering->box->userns >= budgets[i].kept_from)
                        continue;
                int error = write_file(budgets[i].path, budgets[i].value, __builtin_strlen(budgets[i].value));
                /* A kernel without inotify or fanotify has no budget of it, and no such objects. */
                if (error < 0 && !(error == -ENOENT && budgets[i].kept_from > USERNS_FULL))
                        entering_fail(entering, STAGE_BUDGET, -error, budgets[i].path);
        }
}
