/* SPDX-License-Identifier: Apache-2.0
 *
 * See memory_watch.h.
 */
#include "ns/memory_watch.h"

#include "lib/fd.h"
#include "ns/dev.h"
#include "ns/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { SCORE = 500, SCORE_TEXT_MAX = 64 }; /* for oom_score_adj; the highest is 1000 */

void memory_watch_raise_oom_score(const struct entering *entering)
{
        static const char path[] = "/proc/self/oom_score_adj";
        char score[16];
        char *text = NULL;
        if (!layer_enabled(LAYER_LIMITS) || entering->limits.memory != LIMIT_WATCHDOG ||
            fd_read_file(path, SCORE_TEXT_MAX, &text) < 0)
                return;
        autofree char *inherited = text;
        autoclose int file = strtol(inherited, NULL, 10) < SCORE ? open(path, O_WRONLY | O_CLOEXEC) : -1;
        int length = snprintf(score, sizeof(score), "%d", SCORE);
        if (file >= 0)
                (void)fd_write_all(file, score, (size_t)length);
}

void memory_watch_hide_devices(const struct entering *entering)
{
        if (!layer_enabled(LAYER_MOUNT) || entering->limits.memory != LIMIT_WATCHDOG)
                return;
        for (size_t i = 0; i < entering->box->mount_count; i++)
                if (entering->box->mounts[i].kind == MOUNT_DEV)
                        dev_cover_zero(entering, entering->box->mounts[i].destination);
}

static void close_shown(struct entering *entering)
{
        fd_close(&entering->watchdog);
        fd_close(&entering->proc);
        for (size_t i = 0; i < entering->device_count; i++)
                fd_close(&entering->memories[i]);
}

void memory_watch_send(struct entering *entering)
{
        /* The first is the root's tmpfs. It ends read-only and nearly empty, so it is not sent. */
        enum { FIRST = 1, MOST = 200 };
        union {
                struct cmsghdr head;
                char space[CMSG_SPACE(sizeof(int) * (MOST + 2))];
        } control = {0};
        if (!layer_enabled(LAYER_MOUNT) || entering->watchdog < 0)
                return;
        if (entering->limits.memory != LIMIT_WATCHDOG) {
                close_shown(entering);
                return;
        }
        size_t memories = entering->device_count - FIRST;
        if (entering->proc < 0 || memories > MOST)
                entering_fail(entering, STAGE_LIMIT, E2BIG, "memory");
        /* A netlink socket reports on the network namespace in which it was made: the sandbox's. */
        autoclose int sockets = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
        /* Some kernels do not have it and some containers refuse it. /proc is sent in its place then: no
         * socket, so that the watchdog knows. */
        const int first[] = {entering->proc, sockets < 0 ? entering->proc : sockets};
        char byte = 0;
        struct iovec data = {.iov_base = &byte, .iov_len = 1};
        struct msghdr message = {.msg_iov = &data,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = CMSG_SPACE(sizeof(first) + sizeof(int) * memories)};
        control.head = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                                        .cmsg_type = SCM_RIGHTS,
                                        .cmsg_len = CMSG_LEN(sizeof(first) + sizeof(int) * memories)};
        memcpy(CMSG_DATA(&control.head), first, sizeof(first));
        memcpy(CMSG_DATA(&control.head) + sizeof(first), entering->memories + FIRST, sizeof(int) * memories);
        if (sendmsg(entering->watchdog, &message, MSG_NOSIGNAL) < 0)
                entering_fail(entering, STAGE_LIMIT, errno, "memory");
        close_shown(entering);
}
