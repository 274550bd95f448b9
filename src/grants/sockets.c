/* SPDX-License-Identifier: Apache-2.0
 *
 * See sockets.h. A name that the kernel lists is only text: hutch hides what is at that name now. It never
 * searches the grants, whose size would decide how long a start takes.
 */
#include "grants/sockets.h"

#include "grants/hide.h"
#include "grants/mountinfo.h"
#include "grants/socket_list.h"
#include "lib/fd.h"
#include "lib/tree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* The user wants a socket that is a grant itself. */
static bool is_granted_itself(const struct box *box, const char *real)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (mount_is_asked_for(&box->mounts[i]) && str_equal(box->mounts[i].source, real))
                        return true;
        return false;
}

static void hide_socket(struct box *box, const char *real)
{
        struct stat status;
        if (!is_granted_itself(box, real) && lstat(real, &status) == 0 && S_ISSOCK(status.st_mode))
                hide_object(box, real, false,
                            (struct mount_reason){ORIGIN_SOCKET, "socket of another program"});
}

struct hiding {
        const struct resolver *resolver;
        struct mountinfo info;
        struct walker walker; /* every program of the machine can bind thousands of names */
};

/* Only names that can lead into a grant are looked up, and none in a share that may never answer: the user
 * granted nothing in it. */
static void hide_by_name(void *context, const char *name, const uint32_t *device)
{
        struct hiding *hiding = context;
        if (name[0] != '/' || (device && !mountinfo_have_device(&hiding->info, *device)) ||
            mountinfo_is_silent(&hiding->info, name))
                return;
        struct str_list paths = {0};
        const char *real = path_walk_real(&hiding->walker, name);
        if (real)
                mountinfo_find(&hiding->info, real, &paths);
        for (size_t i = 0; i < paths.count; i++)
                hide_socket(hiding->resolver->box, paths.values[i]);
        str_list_free(&paths);
}

/* False for a file that no program has bound any more: a server removes its own from an earlier run.
 * Connecting a datagram socket shows that for every type and network namespace, and no program notices: the
 * kernel refuses a stream socket because of its type, and a datagram socket receives nothing. */
static bool is_in_use(int directory, const char *name)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        autoclose int object = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        autoclose int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (object < 0)
                return errno != ENOENT;
        /* By descriptor: the path can be too long for an address. */
        snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", object);
        return connect(probe, (struct sockaddr *)&address, sizeof(address)) == 0 || errno != ECONNREFUSED;
}

static void hide_directly_in(struct box *box, const char *directory)
{
        autoclosedir DIR *stream = tree_open(AT_FDCWD, directory);
        for (const struct dirent *entry; stream && (entry = tree_next(stream));) {
                if (tree_entry_type(stream, entry) != S_IFSOCK || !is_in_use(dirfd(stream), entry->d_name))
                        continue;
                autofree char *path = path_join(directory, entry->d_name);
                hide_socket(box, path);
        }
}

bool sockets_can_appear(const struct box *box)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (mount_is_grant(&box->mounts[i]) && box->mounts[i].is_directory)
                        return true;
        return false;
}

bool sockets_hide(const struct resolver *resolver)
{
        struct box *box = resolver->box;
        struct hiding hiding = {.resolver = resolver, .walker = {.keeps_no_descriptor = true}};
        if (!sockets_can_appear(box))
                return true;
        bool done = mountinfo_read(&hiding.info, box, resolver->error);
        int listed = done ? socket_list(hide_by_name, &hiding) : 0;
        mountinfo_free(&hiding.info);
        walker_release(&hiding.walker);
        if (listed < 0)
                return error_set(
                    resolver->error, EXIT_SETUP,
                    "cannot hide the sockets of other programs below a grant: the kernel does "
                    "not list them, and /proc/self/net/unix cannot be read: %s; grant no directory",
                    strerror(-listed));
        size_t count = box->mount_count; /* masks are added behind */
        for (size_t i = 0; done && i < count; i++)
                if (mount_is_grant(&box->mounts[i]) && box->mounts[i].is_directory)
                        hide_directly_in(box, box->mounts[i].source);
        return done;
}
