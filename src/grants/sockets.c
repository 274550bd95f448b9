/* SPDX-License-Identifier: Apache-2.0
 *
 * See sockets.h.
 *
 * Theory of operation. The kernel tells which sockets are bound, and most are found by the name it tells;
 * that is quick, however much a grant holds. What such a name does not lead to (the socket was renamed or
 * linked, bound by a relative path, or belongs to a program with another root) may lie anywhere, so that the
 * grants are searched. That is rare where the kernel says which file system the socket is in, and the search
 * is then a long one; for sockets of other network namespaces it does not, and a shorter search has to do.
 * A share that may never answer is left alone where only somebody else's socket leads to it.
 */
#include "grants/sockets.h"

#include "grants/hide.h"
#include "grants/mountinfo.h"
#include "grants/mounts.h"
#include "grants/socket_list.h"
#include "grants/socket_walk.h"
#include "lib/fd.h"
#include "lib/messages.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
        ENTRIES_IF_CERTAIN = 200000, /* there is a socket in this file system whose place is not known */
        ENTRIES_IF_POSSIBLE = 20000, /* there may be one */
};

struct search {
        struct box *box;
        struct mountinfo regions;
        size_t entries; /* how far the grants are to be searched; 0: everything was found by name */
        bool silent;    /* a socket without a known place is where it is not searched for */
};

/* A socket that is a grant itself was meant. */
static bool is_granted_itself(const struct box *box, const char *real)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (mount_is_asked_for(&box->mounts[i]) && str_equal(box->mounts[i].source, real))
                        return true;
        return false;
}

static void hide_socket(struct search *search, const char *real)
{
        struct stat status;
        if (!is_granted_itself(search->box, real) && lstat(real, &status) == 0 && S_ISSOCK(status.st_mode))
                hide_object(search->box, real, false, SOCKET_MASK);
}

/* Hides the socket of this name, if it is that: false when it has, or may have, another one. */
static bool hide_by_name(struct search *search, const struct listed_socket *listed)
{
        struct stat status;
        autofree char *real = listed->name[0] == '/' && !mountinfo_is_silent(&search->regions, listed->name)
                                  ? realpath(listed->name, NULL)
                                  : NULL;
        if (!real || lstat(real, &status) < 0 || !S_ISSOCK(status.st_mode))
                return false;
        struct str_list paths = {0};
        mountinfo_find(&search->regions, real, &paths);
        for (size_t i = 0; i < paths.count; i++)
                hide_socket(search, paths.values[i]);
        str_list_free(&paths);
        return status.st_nlink == 1 && (!listed->identified || (uint32_t)status.st_ino == listed->inode);
}

static void take_socket(void *context, const struct listed_socket *listed)
{
        struct search *search = context;
        if (listed->identified && !mountinfo_have_device(&search->regions, listed->device))
                return;
        size_t entries = listed->identified ? ENTRIES_IF_CERTAIN : ENTRIES_IF_POSSIBLE;
        if (hide_by_name(search, listed))
                return;
        if (listed->identified && mountinfo_device_is_silent(&search->regions, listed->device))
                search->silent = true;
        else if (search->entries < entries)
                search->entries = entries;
}

static void walk_grants(struct search *search)
{
        struct str_list found = {0}, closed = {0};
        size_t budget = search->entries;
        bool complete = true;
        for (size_t i = 0; i < search->box->mount_count; i++) {
                const struct mount *mount = &search->box->mounts[i];
                if (!mount_is_grant(mount) || !mount->is_directory)
                        continue;
                mountinfo_list_silent(&search->regions, mount->source, &closed);
                complete &= socket_walk(mount->source, &closed, &budget, &found);
        }
        for (size_t i = 0; i < found.count; i++)
                hide_socket(search, found.values[i]);
        str_list_free(&found);
        str_list_free(&closed);
        if (!complete && search->entries == ENTRIES_IF_CERTAIN)
                message(
                    "note: a socket of another program may be in reach: it has lost its name, and the grants "
                    "have more than %d files and directories to look for it in; grant less",
                    ENTRIES_IF_CERTAIN);
}

bool sockets_can_appear(const struct box *box)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (mount_is_grant(&box->mounts[i]) && box->mounts[i].is_directory)
                        return true;
        return false;
}

/* What the command brings along is searched for sockets of this network namespace alone: looking through all
 * processes for others takes too long for every start. */
static bool any_asked_for(const struct box *box)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (mount_is_asked_for(&box->mounts[i]) && box->mounts[i].is_directory)
                        return true;
        return false;
}

bool sockets_hide(struct box *box, struct error *error)
{
        struct search search = {.box = box};
        if (!sockets_can_appear(box))
                return true;
        bool looked = mountinfo_read(&search.regions, box, error);
        if (looked) {
                bool told = socket_list_own(take_socket, &search);
                if ((any_asked_for(box) || !told) && !socket_list_others(!told, take_socket, &search))
                        looked = error_set(error, EXIT_SETUP, "cannot look for sockets in /proc: %s",
                                           strerror(errno));
        }
        if (looked && search.entries)
                walk_grants(&search);
        if (looked && search.silent)
                message("note: a socket of another program may be in reach: it is in a share below a grant, "
                        "which "
                        "is not searched, because a share may never answer; grant less");
        mountinfo_free(&search.regions);
        return looked;
}
