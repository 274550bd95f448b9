/* SPDX-License-Identifier: Apache-2.0
 *
 * See mount_watch.h.
 *
 * Theory of operation. A mount below a grant hangs on an entry of a host directory; it is lost when another
 * object comes to that name, or to the name of a directory between the grant and it. Each such (directory,
 * name) is a place. inotify tells of names that appear in the directories. Removing or renaming away an
 * object alone shows nothing that was hidden; what then appears at its name does, whoever put it there. The
 * sandbox itself can make none of these events as long as the mount is there, because a mount point cannot be
 * renamed or removed inside.
 *
 * What happened before mount_watch_begin(), or was lost because too much happened at once, is found by
 * comparing each place with what it was. It listens for the names of watched_names.h too.
 */
#include "run/mount_watch.h"

#include "grants/sockets.h"
#include "grants/watched_names.h"
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/suggest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EVENTS = IN_CREATE | IN_MOVED_TO };

/* The object at a place. The time of birth tells it from a later one that was given its number. */
struct identity {
        uint64_t inode;
        uint32_t major, minor;
        struct statx_timestamp born;
};

struct place {
        char *path;       /* on the host, real */
        const char *name; /* its last component */
        const struct mount *mount;
        struct identity before;
        int listener; /* inotify's number of the directory, or -1 */
        bool said;
};

struct mount_watch {
        struct held_sources *held;
        struct place *places;
        size_t count;
        struct str_list directories; /* where protected names may come into being */
        int notify;                  /* inotify, or -1 */
        bool begun;
};

/* False when nothing is there. */
static bool identify(const char *path, struct identity *identity)
{
        struct statx status;
        if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_INO | STATX_BTIME, &status) <
            0)
                return false;
        *identity = (struct identity){
            .inode = status.stx_ino,
            .major = status.stx_dev_major,
            .minor = status.stx_dev_minor,
            .born = status.stx_btime,
        };
        return true;
}

static bool is_same(const struct identity *a, const struct identity *b)
{
        return a->inode == b->inode && a->major == b->major && a->minor == b->minor &&
               a->born.tv_sec == b->born.tv_sec && a->born.tv_nsec == b->born.tv_nsec;
}

/* Losing it shows, or lets change, what the box does not. */
static bool takes_away(const struct mount *mount, bool sockets_guarded)
{
        if (mount->kind == MOUNT_MASK)
                return !sockets_guarded || !str_equal(mount->why, SOCKET_MASK);
        return mount->kind == MOUNT_OVERLAY || mount->kind == MOUNT_MEMORY ||
               (mount->kind == MOUNT_BIND && !mount->writable);
}

/* What an option named; anything else was hutch's own doing. */
static bool is_asked_for(const struct mount *mount)
{
        return str_starts(mount->why, "--");
}

static void add_place(struct mount_watch *watch, const struct mount *mount, char *path)
{
        struct place place = {.path = path, .name = strrchr(path, '/') + 1, .mount = mount, .listener = -1};
        if (!identify(path, &place.before)) {
                free(path); /* the mount cannot be made, which is said when it is tried */
                return;
        }
        watch->places = str_or_die(reallocarray(watch->places, watch->count + 1, sizeof(*watch->places)));
        watch->places[watch->count++] = place;
}

/* True when the holder would show, and permit, the same as the mount that it has lost. */
static bool is_as_good(const struct mount *holder, const struct mount *mount, const char *place)
{
        return mount->kind == MOUNT_BIND && !holder->writable && str_equal(mount->source, place);
}

/* The entries of host directories on which `mount` depends: its own, and those of the mounts it lies in. */
static void add_places(struct mount_watch *watch, const struct box *box, const struct mount *mount)
{
        autofree char *inside = str_copy(mount->destination);
        while (inside[1]) {
                autofree char *directory = path_parent(inside);
                const struct mount *holder = box_find_mount(box, directory);
                /* A changed layer of an overlay does not take what is mounted on it. */
                if (!holder || holder->kind != MOUNT_BIND || !mount_is_grant(holder))
                        return;
                autofree char *place = str_format("%s%s", holder->source[1] ? holder->source : "",
                                                  inside + strlen(holder->destination));
                if (str_equal(inside, mount->destination) && is_as_good(holder, mount, place))
                        return;
                add_place(watch, mount, str_copy(place));
                free(inside);
                inside = str_copy(directory);
        }
}

struct mount_watch *mount_watch_new(const struct box *box, struct held_sources *held, bool sockets_guarded)
{
        struct mount_watch watch = {.held = held, .notify = -1};
        for (size_t i = 0; i < box->mount_count; i++)
                if (takes_away(&box->mounts[i], sockets_guarded))
                        add_places(&watch, box, &box->mounts[i]);
        watched_names_list_directories(held, &watch.directories);
        if (watch.count + watch.directories.count == 0)
                return NULL;
        watch.notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (watch.notify < 0)
                message("note: what is hidden or protected is not watched while the sandbox runs: %s; raise "
                        "fs.inotify.max_user_instances",
                        strerror(errno));
        struct mount_watch *made = str_or_die(malloc(sizeof(*made)));
        *made = watch;
        return made;
}

/* Says that a place has lost its mount. False when that ends the sandbox. */
static bool say_lost(struct mount_watch *watch, const struct place *lost)
{
        const struct place *worst = lost;
        /* One directory may have been the way to several mounts: said once, and as of the gravest. */
        for (size_t i = 0; i < watch->count; i++) {
                struct place *other = &watch->places[i];
                if (!str_equal(other->path, lost->path))
                        continue;
                other->said = true;
                if (is_asked_for(other->mount))
                        worst = other;
        }
        const struct mount *mount = worst->mount;
        if (is_asked_for(mount)) {
                message(
                    "%s was replaced while the sandbox ran, so that %s (%s) is no longer enforced, which "
                    "ends "
                    "it with status 125: start it again; files in a directory that is hidden or protected as "
                    "a whole can be replaced freely",
                    error_shown(worst->path), error_shown(mount->destination), mount->why);
                return false;
        }
        message("%s was replaced while the sandbox runs, and %s (%s) is open to the command until it is "
                "started again: %s",
                error_shown(worst->path), error_shown(mount->destination), mount->why,
                mount->kind == MOUNT_MASK ? "start it again to hide what is there now"
                                          : "start it again, and look whether it is as you left it");
        return true;
}

/* Compares all places with what they were. */
static bool compare(struct mount_watch *watch)
{
        bool holds = true;
        for (size_t i = 0; i < watch->count; i++) {
                struct place *place = &watch->places[i];
                struct identity now;
                if (!place->said && identify(place->path, &now) && !is_same(&now, &place->before))
                        holds &= say_lost(watch, place);
        }
        return holds;
}

/* inotify's number of one directory, or -1 with errno. */
static int listen_to(const struct mount_watch *watch, const char *directory)
{
        return inotify_add_watch(watch->notify, directory, EVENTS | IN_ONLYDIR | IN_DONT_FOLLOW);
}

bool mount_watch_begin(struct mount_watch *watch)
{
        int error = 0;
        watch->begun = true;
        for (size_t i = 0; watch->notify >= 0 && i < watch->count; i++) {
                struct place *place = &watch->places[i];
                autofree char *directory = path_parent(place->path);
                place->listener = listen_to(watch, directory);
                if (place->listener < 0 && errno != ENOENT)
                        error = errno;
        }
        for (size_t i = 0; watch->notify >= 0 && i < watch->directories.count; i++)
                (void)listen_to(watch, watch->directories.values[i]); /* it is said at the end in any case */
        if (error)
                message("note: not everything that is hidden or protected is watched while the sandbox runs: "
                        "%s%s",
                        strerror(error), error == ENOSPC ? "; raise fs.inotify.max_user_watches" : "");
        watched_names_report(watch->held);
        message_verbose("watching %zu places of mounts on the host", watch->count);
        return compare(watch);
}

int mount_watch_descriptor(const struct mount_watch *watch)
{
        return watch && watch->begun ? watch->notify : -1;
}

static bool take_event(struct mount_watch *watch, const struct inotify_event *event)
{
        if (event->mask & IN_Q_OVERFLOW) {
                watched_names_report(watch->held);
                return compare(watch);
        }
        if (!event->len)
                return true;
        if (watched_names_may_concern(watch->held, event->name))
                watched_names_report(watch->held);
        for (size_t i = 0; i < watch->count; i++) {
                struct place *place = &watch->places[i];
                if (!place->said && place->listener == event->wd && str_equal(place->name, event->name))
                        return say_lost(watch, place);
        }
        return true;
}

bool mount_watch_read(struct mount_watch *watch)
{
        _Alignas(struct inotify_event) char buffer[4096];
        ssize_t length = read(watch->notify, buffer, sizeof(buffer));
        bool holds = true;
        for (ssize_t at = 0; at < length;) {
                const struct inotify_event *event = (const void *)(buffer + at);
                holds &= take_event(watch, event);
                at += (ssize_t)(sizeof(*event) + event->len);
        }
        return holds;
}

bool mount_watch_finish(struct mount_watch *watch)
{
        return !watch || watch->begun || compare(watch);
}

void mount_watch_free(struct mount_watch *watch)
{
        if (!watch)
                return;
        for (size_t i = 0; i < watch->count; i++)
                free(watch->places[i].path);
        free(watch->places);
        str_list_free(&watch->directories);
        fd_close(&watch->notify);
        free(watch);
}
