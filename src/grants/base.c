/* SPDX-License-Identifier: Apache-2.0
 *
 * See base.h.
 */
#include "grants/base.h"

#include "grants/etc.h"
#include "grants/mounts.h"
#include "lib/fd.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static void add_simple(struct box *box, enum mount_kind kind, const char *destination)
{
        struct mount mount = {.kind = kind,
                              .destination = str_copy(destination),
                              .origin = ORIGIN_BASE,
                              .why = str_copy("base")};
        box_add_mount(box, &mount);
}

/* Adds a directory of the host tree, or the link that the host has at this path (/bin → usr/bin). */
static bool add_tree_directory(struct box *box, struct held_sources *held, const char *path,
                               struct error *error)
{
        char text[PATH_MAX];
        struct stat status;
        if (lstat(path, &status) < 0)
                return true; /* this distribution does not have it */
        ssize_t length = S_ISLNK(status.st_mode) ? readlink(path, text, sizeof(text) - 1) : -1;
        if (length >= 0) {
                text[length] = 0;
                mounts_add_link(box, path, text, REASON_BASE);
                return true;
        }
        return mounts_add_bind(box, held, path, path, false, REASON_BASE, error);
}

bool base_add(struct box *box, struct held_sources *held, struct error *error)
{
        static const char *const tree[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
        for (size_t i = 0; i < sizeof(tree) / sizeof(*tree); i++)
                if (!add_tree_directory(box, held, tree[i], error))
                        return false;
        /* By real path, whichever of them the distribution makes a link. */
        for (const char *const *path = etc_host_paths; *path; path++) {
                autofree char *real = mounts_repeat_links(box, *path, REASON_BASE);
                if (!real)
                        continue;
                if (!mounts_show(box, real) &&
                    !mounts_add_bind(box, held, real, real, false, REASON_BASE, error))
                        return false;
        }
        etc_add_files(box);
        if (box->proc)
                add_simple(box, MOUNT_PROC, "/proc");
        add_simple(box, MOUNT_DEV, "/dev");
        add_simple(box, MOUNT_MEMORY, "/dev/shm");
        add_simple(box, MOUNT_MEMORY, "/tmp");
        add_simple(box, MOUNT_MEMORY, "/var/tmp");
        /* An empty directory at the path of the caller's home: programs write caches and settings there, and
         * configurations name it. */
        autofree char *real_home = mounts_repeat_links(box, box->home, REASON_BASE);
        if (!mounts_find_exact(box, real_home ? real_home : box->home))
                add_simple(box, MOUNT_MEMORY, real_home ? real_home : box->home);
        return true;
}
