/* SPDX-License-Identifier: Apache-2.0
 *
 * See base.h.
 */
#include "grants/base.h"

#include "grants/etc.h"
#include "grants/mounts.h"
#include "lib/path_walk.h"

static void add_simple(struct box *box, enum mount_kind kind, const char *destination)
{
        struct mount mount = {.kind = kind,
                              .destination = str_copy(destination),
                              .origin = ORIGIN_BASE,
                              .why = str_copy("base")};
        box_add_mount(box, &mount);
}

/* Adds a directory of the host tree, or the link that the host has at this path (/bin → usr/bin). */
static bool add_tree_directory(const struct resolver *resolver, const char *path)
{
        const struct walked *walked = path_walk(resolver_walker(resolver), path);
        if (walked->links.count) /* what the link leads to shows its own links */
                mounts_add_link(resolver->box, path, walked->texts.values[0], REASON_BASE);
        if (walked->links.count || walked->problem)
                return true; /* or this distribution does not have it */
        return mounts_add_bind(resolver, path, path, false, REASON_BASE);
}

bool base_add(const struct resolver *resolver)
{
        struct box *box = resolver->box;
        static const char *const tree[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
        for (size_t i = 0; i < sizeof(tree) / sizeof(*tree); i++)
                if (!add_tree_directory(resolver, tree[i]))
                        return false;
        /* By real path, whichever of them the distribution makes a link. */
        for (const char *const *path = etc_host_paths; *path; path++) {
                const struct walked *walked = path_walk(resolver_walker(resolver), *path);
                mounts_add_links(box, walked, REASON_BASE);
                const char *real = walked->real;
                if (real && !mounts_show(box, real) &&
                    !mounts_add_bind(resolver, real, real, false, REASON_BASE))
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
        const struct walked *walked = path_walk(resolver_walker(resolver), box->home);
        mounts_add_links(box, walked, REASON_BASE);
        const char *home = walked->real ? walked->real : box->home;
        if (!mounts_find_exact(box, home))
                add_simple(box, MOUNT_MEMORY, home);
        return true;
}
