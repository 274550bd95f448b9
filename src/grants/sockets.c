/* SPDX-License-Identifier: Apache-2.0
 *
 * See sockets.h.
 *
 * Theory of operation. The kernel lists the bound sockets with their names, and most are found by name, which
 * is quick however much a grant contains. A socket whose name does not lead to it (it was renamed, linked or
 * bound by a relative path, or its program has another root) can be anywhere, so that hutch searches the
 * grants. Where the kernel tells which file system the socket is in, that is rare, and the search is long.
 * For sockets of other network namespaces it does not tell, and a shorter search must do. hutch never looks
 * into a share that may not answer only because another program's socket is in it.
 */
#include "grants/sockets.h"

#include "grants/hide.h"
#include "grants/socket_walk.h"
#include "lib/fd.h"
#include "lib/messages.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

/* How many files and directories hutch searches in all grants together. */
enum {
        ENTRIES_IF_CERTAIN = 200000, /* a granted file system has a socket whose path is not known */
        ENTRIES_IF_POSSIBLE = 20000, /* it may have one */
};

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

/* Hides the socket at its name. False when the name leads to another object, or the socket may have a second
 * name. */
static bool hide_by_name(const struct socket_search *search, const struct listed_socket *listed)
{
        struct stat status;
        autofree char *real = listed->name[0] == '/' && !mountinfo_is_silent(&search->info, listed->name)
                                  ? realpath(listed->name, NULL)
                                  : NULL;
        if (!real || lstat(real, &status) < 0 || !S_ISSOCK(status.st_mode))
                return false;
        struct str_list paths = {0};
        mountinfo_find(&search->info, real, &paths);
        for (size_t i = 0; i < paths.count; i++)
                hide_socket(search->box, paths.values[i]);
        str_list_free(&paths);
        return status.st_nlink == 1 && (!listed->identified || (uint32_t)status.st_ino == listed->inode);
}

void sockets_take(void *context, const struct listed_socket *listed)
{
        struct socket_search *search = context;
        if (listed->identified && !mountinfo_have_device(&search->info, listed->device))
                return;
        if (hide_by_name(search, listed))
                return;
        if (listed->identified && mountinfo_device_is_silent(&search->info, listed->device)) {
                search->silent = true;
        } else {
                search->certain = search->certain || listed->identified;
                search->entries = search->certain ? ENTRIES_IF_CERTAIN : ENTRIES_IF_POSSIBLE;
        }
}

void sockets_search(const struct socket_search *search)
{
        struct str_list found = {0}, closed = {0};
        size_t budget = search->entries;
        bool complete = true;
        for (size_t i = 0; search->entries && i < search->box->mount_count; i++) {
                const struct mount *mount = &search->box->mounts[i];
                if (!mount_is_grant(mount) || !mount->is_directory)
                        continue;
                mountinfo_list_silent(&search->info, mount->source, &closed);
                complete &= socket_walk(mount->source, &closed, &budget, &found);
        }
        for (size_t i = 0; i < found.count; i++)
                hide_socket(search->box, found.values[i]);
        str_list_free(&found);
        str_list_free(&closed);
        if (!complete && search->certain)
                message(
                    "note: the command may reach a socket of another program: its path is not known, and the "
                    "grants have more than %zu files and directories to search; grant less",
                    search->entries);
        if (search->silent)
                message(
                    "note: the command may reach a socket of another program: it is in a network or FUSE "
                    "file system below a grant, which hutch does not search, because it may never answer; "
                    "grant less");
}

bool sockets_can_appear(const struct box *box)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (mount_is_grant(&box->mounts[i]) && box->mounts[i].is_directory)
                        return true;
        return false;
}

/* For what only the command needs, hutch asks for the sockets of its own network namespace alone: to walk all
 * processes would slow down every start. */
static bool any_asked_for(const struct box *box)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (mount_is_asked_for(&box->mounts[i]) && box->mounts[i].is_directory)
                        return true;
        return false;
}

bool sockets_hide(const struct resolver *resolver)
{
        struct box *box = resolver->box;
        struct socket_search search = {.box = box};
        if (!sockets_can_appear(box))
                return true;
        bool done = mountinfo_read(&search.info, box, resolver->error);
        if (done) {
                bool listed = socket_list_own(sockets_take, &search);
                if ((any_asked_for(box) || !listed) && !socket_list_others(!listed, sockets_take, &search))
                        done = error_set(resolver->error, EXIT_SETUP, "cannot look for sockets in /proc: %s",
                                         strerror(errno));
        }
        if (done)
                sockets_search(&search);
        mountinfo_free(&search.info);
        return done;
}
