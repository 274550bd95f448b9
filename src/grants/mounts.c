/* SPDX-License-Identifier: Apache-2.0
 *
 * See mounts.h.
 */
#include "grants/mounts.h"

#include "lib/fd.h"
#include "lib/path_walk.h"

#include <errno.h>
#include <sys/stat.h>

enum {
        MAX_LINKS = 40, /* as many as the kernel follows (path_resolution(7)) */
};

bool mounts_add_bind(const struct resolver *resolver, const char *real, const char *destination,
                     bool writable, struct mount_reason reason)
{
        const struct walked *source = path_walk(resolver_walker(resolver), real);
        if (source->problem || source->links.count)
                return error_set(resolver->error, EXIT_SETUP, "cannot open %s: %s%s", real,
                                 strerror(source->links.count ? ELOOP : source->problem),
                                 source->problem == EACCES
                                     ? ": its file system (FUSE, NFS) admits other accounts only, "
                                       "also where this one is root"
                                     : "");
        struct mount mount = {
            .kind = MOUNT_BIND,
            .source = str_copy(real),
            .destination = str_copy(destination),
            .writable = writable,
            .is_directory = S_ISDIR(source->status.st_mode),
            .device = source->status.st_dev,
            .inode = source->status.st_ino,
            .origin = reason.origin,
            .why = str_copy(reason.text),
        };
        box_add_mount(resolver->box, &mount);
        return true;
}

void mounts_add_link(struct box *box, const char *destination, const char *text, struct mount_reason reason)
{
        if (mounts_find_exact(box, destination))
                return;
        struct mount mount = {
            .kind = MOUNT_LINK,
            .source = str_copy(text),
            .destination = str_copy(destination),
            .origin = reason.origin,
            .why = str_copy(reason.text),
        };
        box_add_mount(box, &mount);
}

void mounts_add_links(struct box *box, const struct walked *walked, struct mount_reason reason)
{
        for (size_t i = 0; i < walked->links.count; i++)
                mounts_add_link(box, walked->links.values[i], walked->texts.values[i], reason);
}

void mounts_make_room(struct box *box, const char *destination)
{
        size_t kept = 0;
        for (size_t i = 0; i < box->mount_count; i++) {
                struct mount *mount = &box->mounts[i];
                bool replaceable = mount->kind == MOUNT_FILE || mount->kind == MOUNT_LINK ||
                                   (mount->kind == MOUNT_BIND && mount->origin == ORIGIN_BASE) ||
                                   str_equal(mount->destination, destination);
                if (replaceable && path_is_below(mount->destination, destination))
                        mount_free(mount);
                else
                        box->mounts[kept++] = *mount;
        }
        box->mount_count = kept;
}

static bool comes_before(const struct mount *a, const struct mount *b)
{
        bool link_a = a->kind == MOUNT_LINK, link_b = b->kind == MOUNT_LINK;
        if (link_a != link_b)
                return link_b;
        return path_depth(a->destination) < path_depth(b->destination);
}

void mounts_sort(struct box *box)
{
        /* The C standard does not promise a stable qsort(). Mounts of equal depth never nest, but their order
         * in --dry-run must not change from run to run. */
        for (size_t i = 1; i < box->mount_count; i++) {
                struct mount moved = box->mounts[i];
                size_t j = i;
                for (; j > 0 && comes_before(&moved, &box->mounts[j - 1]); j--)
                        box->mounts[j] = box->mounts[j - 1];
                box->mounts[j] = moved;
        }
}

struct mount *mounts_find_exact(const struct box *box, const char *destination)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (str_equal(box->mounts[i].destination, destination))
                        return &box->mounts[i];
        return NULL;
}

bool mounts_show(const struct box *box, const char *path)
{
        const struct mount *mount = box_find_mount(box, path);
        return mount && (mount->kind == MOUNT_BIND || mount->kind == MOUNT_OVERLAY) &&
               str_equal(mount->source, mount->destination);
}

char *mounts_place(const struct mount *mount, const char *real)
{
        return str_format("%s%s", mount->destination, real + strlen(mount->source));
}

char *mounts_follow_inside(const struct box *box, const char *place)
{
        char *path = str_copy(place);
        for (size_t i = 0, links = 0; i < box->mount_count && links < MAX_LINKS; i++) {
                const struct mount *link = &box->mounts[i];
                size_t length = strlen(link->destination);
                if (link->kind != MOUNT_LINK || !path_is_below(path, link->destination) || !path[length])
                        continue;
                autofree char *parent = path_parent(link->destination);
                autofree char *target = path_join(parent, link->source);
                char *followed = str_format("%s%s", target[1] ? target : "", path + length);
                free(path);
                path = followed;
                i = (size_t)-1; /* from the beginning: the new path may lead through another link */
                links++;
        }
        return path;
}

bool mounts_any_writable(const struct box *box)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (box->mounts[i].kind == MOUNT_BIND && box->mounts[i].writable)
                        return true;
        return false;
}

const struct mount *mounts_find_writable(const struct resolver *resolver, const char *path)
{
        const struct box *box = resolver->box;
        /* By identity, not by name: the host may show one directory at two paths (a bind mount in fstab). */
        for (char *place = mounts_any_writable(box) ? str_copy(path) : NULL; place;) {
                const struct walked *walked = path_walk(resolver_walker(resolver), place);
                bool exists = walked->problem == 0 && walked->links.count == 0;
                for (size_t i = 0; i < box->mount_count; i++) {
                        const struct mount *grant = &box->mounts[i];
                        if (grant->kind == MOUNT_BIND && grant->writable &&
                            (str_equal(grant->source, place) ||
                             (exists && grant->device == walked->status.st_dev &&
                              grant->inode == walked->status.st_ino))) {
                                free(place);
                                return grant;
                        }
                }
                char *parent = place[1] ? path_parent(place) : NULL;
                free(place);
                place = parent;
        }
        return NULL;
}

const struct mount *mounts_find_left(const struct resolver *resolver, const char *place, const char *real)
{
        const struct mount *grant = mounts_find_writable(resolver, place);
        return grant && mounts_find_writable(resolver, real) != grant ? grant : NULL;
}

const struct mount *mounts_find_escape(const struct resolver *resolver, const struct walked *walked)
{
        const struct mount *left = NULL;
        for (size_t i = 0; walked->real && i < walked->links.count && !left; i++)
                left = mounts_find_left(resolver, walked->links.values[i], walked->real);
        return left;
}

const struct mount *mounts_find_author(const struct resolver *resolver, const char *path, bool *by_link)
{
        const struct walked *walked = path_walk(resolver_walker(resolver), path);
        const struct mount *left = mounts_find_escape(resolver, walked);
        *by_link = left;
        return left || !walked->real ? left : mounts_find_writable(resolver, walked->real);
}
