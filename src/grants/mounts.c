/* SPDX-License-Identifier: Apache-2.0
 *
 * See mounts.h. This module looks at the host and writes the list; it never opens anything for reading and
 * never creates anything.
 */
#include "grants/mounts.h"

#include "grants/mountinfo.h"
#include "grants/sensitive_paths.h"
#include "lib/fd.h"
#include "lib/homes.h"
#include "lib/messages.h"
#include "lib/real_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum {
        MOST_LINKS = 40, /* as many as the kernel follows (path_resolution(7)) */
};

void held_sources_release(struct held_sources *held)
{
        for (size_t i = 0; i < held->count; i++)
                close(held->descriptors[i]);
        free(held->descriptors);
        str_list_free(&held->unsafe);
        str_list_free(&held->links);
        str_list_free(&held->reached);
        held->descriptors = NULL;
        held->count = 0;
}

static void hold(struct held_sources *held, int descriptor)
{
        held->descriptors =
            str_or_die(reallocarray(held->descriptors, held->count + 1, sizeof(*held->descriptors)));
        held->descriptors[held->count++] = descriptor;
}

const char *mounts_find_sensitive(const char *real_path, bool writable)
{
        const struct caller_homes *homes = caller_homes();
        const char *why = sensitive_path_reason(real_path, "", writable);
        for (size_t i = 0; i < homes->real.count && !why; i++)
                why = sensitive_path_reason(real_path, homes->real.values[i], writable);
        return why;
}

struct mount *mounts_find_exact(const struct box *box, const char *destination)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (str_equal(box->mounts[i].destination, destination))
                        return &box->mounts[i];
        return NULL;
}

void mounts_add_link(struct box *box, const char *destination, const char *text, const char *why)
{
        if (mounts_find_exact(box, destination))
                return;
        struct mount mount = {
            .kind = MOUNT_LINK,
            .source = str_copy(text),
            .destination = str_copy(destination),
            .why = str_copy(why),
        };
        box_add_mount(box, &mount);
}

char *mounts_repeat_links(struct box *box, const char *path, const char *why)
{
        struct path_links links = {0};
        char *real = real_path_resolve(path, &links);
        int error = errno;
        for (size_t i = 0; i < links.places.count; i++)
                mounts_add_link(box, links.places.values[i], links.texts.values[i], why);
        real_path_free_links(&links);
        errno = error;
        return real;
}

bool mounts_any_writable(const struct box *box)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (box->mounts[i].kind == MOUNT_BIND && box->mounts[i].writable)
                        return true;
        return false;
}

const struct mount *mounts_find_writable(const struct box *box, const char *path)
{
        /* By identity, not by name: the host may show one directory at two places (a bind mount in fstab). */
        for (char *place = mounts_any_writable(box) ? str_copy(path) : NULL; place;) {
                struct stat status;
                bool exists = lstat(place, &status) == 0;
                for (size_t i = 0; i < box->mount_count; i++) {
                        const struct mount *grant = &box->mounts[i];
                        if (grant->kind == MOUNT_BIND && grant->writable &&
                            (str_equal(grant->source, place) ||
                             (exists && grant->device == status.st_dev && grant->inode == status.st_ino))) {
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

/* The writable grant that holds the link at `place`, which leads out of it to `real`; or NULL. */
static const struct mount *find_left(const struct box *box, const char *place, const char *real)
{
        const struct mount *grant = mounts_find_writable(box, place);
        return grant && mounts_find_writable(box, real) != grant ? grant : NULL;
}

char *mounts_resolve(const struct box *box, const char *path, const struct mount **left)
{
        struct path_links links = {0};
        *left = NULL;
        char *real = real_path_resolve(path, &links);
        int error = errno;
        for (size_t i = 0; real && i < links.places.count && !*left; i++)
                *left = find_left(box, links.places.values[i], real);
        real_path_free_links(&links);
        errno = error;
        return real;
}

/* real_path_resolve(), and remembers the links for mounts_check_links(). */
static char *resolve_grant(struct held_sources *held, const char *path, struct path_links *links)
{
        char *real = real_path_resolve(path, links);
        for (size_t i = 0; real && i < links->places.count; i++) {
                str_list_add(&held->links, links->places.values[i]);
                str_list_add(&held->reached, real);
        }
        return real;
}

void mounts_permit_unsafe(struct held_sources *held, const char *path)
{
        struct path_links links = {0};
        char *real = resolve_grant(held, path, &links);
        if (real)
                str_list_take(&held->unsafe, real);
        real_path_free_links(&links);
}

bool mounts_check_links(const struct box *box, const struct held_sources *held, struct error *error)
{
        for (size_t i = 0; i < held->links.count; i++) {
                const struct mount *left = find_left(box, held->links.values[i], held->reached.values[i]);
                if (left)
                        return error_set(
                            error, EXIT_SETUP,
                            "refusing to grant %s: the link %s leads there out of the writable %s, and the "
                            "server may have put it there; if it is yours, name %s itself",
                            held->reached.values[i], held->links.values[i], left->source,
                            held->reached.values[i]);
        }
        return true;
}

static void free_mount(struct mount *mount)
{
        free(mount->source);
        free(mount->destination);
        free(mount->content);
        free(mount->why);
}

char *mounts_follow_inside(const struct box *box, const char *place)
{
        char *path = str_copy(place);
        for (size_t i = 0, links = 0; i < box->mount_count && links < MOST_LINKS; i++) {
                const struct mount *link = &box->mounts[i];
                size_t length = strlen(link->destination);
                if (link->kind != MOUNT_LINK || !path_is_below(path, link->destination) || !path[length])
                        continue;
                autofree char *parent = path_parent(link->destination);
                autofree char *target = path_join(parent, link->source);
                char *followed = str_format("%s%s", target[1] ? target : "", path + length);
                free(path);
                path = followed;
                i = (size_t)-1; /* from the beginning: it may lead through another link */
                links++;
        }
        return path;
}

/* A grant replaces what is at its destination, and everything that the base has below it (`--ro DIR:/etc`
 * brings its own passwd); what a sandbox cannot be without, proc, devices and memory, stays there. */
static void make_room(struct box *box, const char *destination)
{
        size_t kept = 0;
        for (size_t i = 0; i < box->mount_count; i++) {
                struct mount *mount = &box->mounts[i];
                bool replaceable = mount->kind == MOUNT_FILE || mount->kind == MOUNT_LINK ||
                                   (mount->kind == MOUNT_BIND && str_equal(mount->why, "base")) ||
                                   str_equal(mount->destination, destination);
                if (replaceable && path_is_below(mount->destination, destination))
                        free_mount(mount);
                else
                        box->mounts[kept++] = *mount;
        }
        box->mount_count = kept;
}

bool mounts_add_bind(struct box *box, struct held_sources *held, const char *real, const char *destination,
                     bool writable, const char *why, struct error *error)
{
        struct stat status;
        /* O_PATH opens nothing of the object itself (a fifo does not wait); that a directory is asked for
         * makes autofs mount what belongs there. */
        autoclose int source = real_path_open(real, O_PATH | O_DIRECTORY);
        if (source < 0 && errno == ENOTDIR)
                source = real_path_open(real, O_PATH);
        if (source < 0 || fstat(source, &status) < 0)
                return error_set(error, EXIT_SETUP, "cannot open %s: %s%s", real, strerror(errno),
                                 errno == EACCES
                                     ? ": its file system (FUSE, NFS) admits other accounts only, "
                                       "also where this one is root"
                                     : "");
        struct mount mount = {
            .kind = MOUNT_BIND,
            .source = str_copy(real),
            .destination = str_copy(destination),
            .writable = writable,
            .is_directory = S_ISDIR(status.st_mode),
            .device = status.st_dev,
            .inode = status.st_ino,
            .why = str_copy(why),
        };
        hold(held, fd_take(&source));
        box_add_mount(box, &mount);
        return true;
}

/* Without these no program starts, or the sandbox has not its own /proc and devices. */
static bool is_system_place(const char *place)
{
        static const char *const places[] = {"/usr", "/usr/bin", "/usr/lib", "/usr/lib64", "/proc", "/dev"};
        for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
                if (str_equal(place, places[i]))
                        return true;
        return false;
}

/* Why granting it would void the sandbox when the danger has another path: the host may show one directory at
 * two places. False with an error; else the caller frees *why, which is NULL when there is none. */
static bool judge_other_names(const char *real, bool writable, char **why, struct error *error)
{
        struct str_list names = {0};
        bool listed = mountinfo_list_names(real, &names, error);
        *why = NULL;
        for (size_t i = 0; i < names.count && !*why; i++) {
                const char *danger = mounts_find_sensitive(names.values[i], writable);
                if (danger)
                        *why = str_format("it is %s too, and %s", names.values[i], danger);
        }
        str_list_free(&names);
        return listed;
}

/* Judges a grant: refuses what would void the sandbox, unless --unsafe-grant named that very place. */
static bool judge(struct box *box, const struct held_sources *held, const char *real, bool writable,
                  struct error *error)
{
        autofree char *other = NULL;
        const char *refusal = mounts_find_sensitive(real, writable);
        if (!refusal && !judge_other_names(real, writable, &other, error))
                return false;
        if (!refusal)
                refusal = other;
        if (!refusal)
                return true;
        /* The sandbox's root is being built on top of it: it cannot be cloned without that. */
        if (real[1] == 0)
                return error_set(error, EXIT_SETUP,
                                 "refusing to grant /: %s; grant the directories that the server needs",
                                 refusal);
        if (!str_list_has(&held->unsafe, real))
                return error_set(
                    error, EXIT_SETUP,
                    "refusing to grant %s%s: %s; grant a directory that holds only what the server "
                    "needs; --unsafe-grant %s permits it although it voids the sandbox",
                    real, writable ? " writable" : "", refusal, real);
        message("note: --unsafe-grant voids the sandbox for %s: %s, and the command can %s it", real, refusal,
                writable ? "read and change" : "read");
        if (!str_list_has(&box->unsafe_grants, real))
                str_list_add(&box->unsafe_grants, real);
        return true;
}

static bool two_at_one_place(const char *why, const char *path, const struct mount *other,
                             struct error *error)
{
        return error_set(error, EXIT_USAGE,
                         "two grants have one place inside, %s, where a link leads: %s %s and %s",
                         other->destination, why, path, other->why);
}

bool mounts_add_grant(struct box *box, struct held_sources *held, const char *path, const char *destination,
                      bool writable, const char *why, struct error *error)
{
        struct path_links links = {0};
        autofree char *real = resolve_grant(held, path, &links);
        int failure = errno;
        /* A grant at another place needs none of the links on the way to its source. */
        for (size_t i = 0; !destination && i < links.places.count; i++)
                mounts_add_link(box, links.places.values[i], links.texts.values[i], why);
        real_path_free_links(&links);
        if (!real)
                return error_set(error, EXIT_SETUP, "cannot grant %s: %s: check the path after %s%s", path,
                                 strerror(failure), why,
                                 strchr(path, '$') ? ", in which no variable is expanded" : "");
        if (!judge(box, held, real, writable, error))
                return false;
        autofree char *place = destination ? mounts_follow_inside(box, destination) : str_copy(real);
        const struct mount *own = mounts_find_exact(box, place);
        bool is_own = own && (own->kind == MOUNT_PROC || own->kind == MOUNT_DEV);
        if (is_own || (destination && is_system_place(place)))
                return error_set(error, EXIT_SETUP,
                                 "cannot put %s at %s: that would hide the sandbox's own %s", real,
                                 destination ? destination : place, place);
        /* Two spellings, by a link, of what options.c compares as it is written. */
        bool is_same = own && own->source && own->writable == writable && str_equal(own->source, real) &&
                       (own->kind == MOUNT_OVERLAY) == str_equal(why, "--overlay");
        if (own && mount_is_asked_for(own) && !is_same)
                return two_at_one_place(why, path, own, error);
        make_room(box, place);
        return mounts_add_bind(box, held, real, place, writable, why, error);
}

bool mounts_judge_file(struct box *box, struct held_sources *held, const char *path, const char *why,
                       char **real, struct stat *status, struct error *error)
{
        struct path_links links = {0};
        *real = resolve_grant(held, path, &links);
        int failure = errno;
        real_path_free_links(&links);
        if (!*real)
                return error_set(error, EXIT_SETUP, "cannot copy %s in: %s: check the path after %s", path,
                                 strerror(failure), why);
        if (!judge(box, held, *real, false, error))
                return false;
        autoclose int source = real_path_open(*real, O_PATH);
        if (source < 0 || fstat(source, status) < 0)
                return error_set(error, EXIT_SETUP, "cannot open %s: %s", *real, strerror(errno));
        hold(held, fd_take(&source));
        return true;
}

bool mounts_add_overlay(struct box *box, struct held_sources *held, const char *path, const char *destination,
                        struct error *error)
{
        if (!mounts_add_grant(box, held, path, destination, false, "--overlay", error))
                return false;
        struct mount *added = &box->mounts[box->mount_count - 1];
        if (!added->is_directory)
                return error_set(error, EXIT_SETUP,
                                 "cannot make an overlay of %s: it is no directory; name the one it lies in",
                                 path);
        added->kind = MOUNT_OVERLAY;
        return true;
}

char *mounts_place(const struct mount *mount, const char *real)
{
        return str_format("%s%s", mount->destination, real + strlen(mount->source));
}

bool mounts_add_memory(struct box *box, const char *path, uint64_t bytes, const char *why,
                       struct error *error)
{
        autofree char *place = mounts_follow_inside(box, path);
        if (place[1] == 0 || is_system_place(place))
                return error_set(error, EXIT_SETUP,
                                 "cannot put memory at %s: that would hide the sandbox's own %s", path,
                                 place);
        const struct mount *own = mounts_find_exact(box, place);
        if (own && mount_is_asked_for(own))
                return two_at_one_place(why, path, own, error);
        make_room(box, place);
        struct mount mount = {
            .kind = MOUNT_MEMORY,
            .destination = str_copy(place),
            .bytes = bytes,
            .why = str_copy(why),
        };
        box_add_mount(box, &mount);
        return true;
}

bool mounts_replace_memory(struct box *box, struct held_sources *held, const char *real,
                           const char *destination, const char *why, struct error *error)
{
        make_room(box, destination);
        return mounts_add_bind(box, held, real, destination, true, why, error);
}

bool mounts_add_program(struct box *box, struct held_sources *held, const char *path, const char *why,
                        struct error *error)
{
        autofree char *real = mounts_repeat_links(box, path, why);
        if (!real)
                return error_set(error, EXIT_SETUP, "cannot grant %s, which the command needs: %s", path,
                                 strerror(errno));
        if (mounts_show(box, real))
                return true;
        const struct mount *left = NULL;
        autofree char *again = mounts_resolve(box, path, &left);
        if (!again || !str_equal(again, real))
                return error_set(error, EXIT_SETUP, "%s changed while hutch started", path);
        if (left)
                return error_set(
                    error, EXIT_SETUP,
                    "refusing to grant %s, which the command needs: a link leads there out of the "
                    "writable %s, and the server may have put it there; if it is yours, add --ro %s",
                    real, left->source, real);
        const char *refusal = mounts_find_sensitive(real, false);
        if (refusal)
                return error_set(
                    error, EXIT_SETUP,
                    "refusing to grant %s, which the command needs: %s; move the program elsewhere", real,
                    refusal);
        return mounts_add_bind(box, held, real, real, false, why, error);
}

bool mounts_show(const struct box *box, const char *path)
{
        const struct mount *mount = box_find_mount(box, path);
        return mount && (mount->kind == MOUNT_BIND || mount->kind == MOUNT_OVERLAY) &&
               str_equal(mount->source, mount->destination);
}

/* Links last: while mounts are being made, no link may be on the way to a mount point. */
static bool comes_before(const struct mount *a, const struct mount *b)
{
        bool link_a = a->kind == MOUNT_LINK, link_b = b->kind == MOUNT_LINK;
        if (link_a != link_b)
                return link_b;
        return path_depth(a->destination) < path_depth(b->destination);
}

void mounts_sort(struct box *box)
{
        /* glibc's and musl's qsort are not stable by contract; equal depths never nest, so only the listing's
         * order would change, but it should not change from run to run. */
        for (size_t i = 1; i < box->mount_count; i++) {
                struct mount moved = box->mounts[i];
                size_t j = i;
                for (; j > 0 && comes_before(&moved, &box->mounts[j - 1]); j--)
                        box->mounts[j] = box->mounts[j - 1];
                box->mounts[j] = moved;
        }
}
