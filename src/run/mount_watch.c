/* SPDX-License-Identifier: Apache-2.0
 *
 * See mount_watch.h.
 *
 * Theory of operation. A mount below a grant depends on one entry of a host directory, and on the entries of
 * the directories between the grant and it. The mount is lost when another object takes such a name. Each
 * (directory, name) is a place, and inotify reports names that appear in its directory. Removing or renaming
 * the object away reveals nothing that was hidden; the object that appears at its name next does, whoever put
 * it there. The sandbox itself cannot cause these events while the mount exists, because a mount point cannot
 * be renamed or removed inside.
 *
 * What happened before mount_watch_begin(), or was lost to a queue overflow, is found by comparing each place
 * with what was there. The watch also listens for the protected names (watched_names.h) that a run may
 * create.
 */
#include "run/mount_watch.h"

#include "grants/watched_names.h"
#include "lib/fd.h"
#include "lib/messages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EVENTS = IN_CREATE | IN_MOVED_TO };

/* The object at a place. Its birth time tells it from a later object with the same inode number. There is no
 * padding, so two can be compared as bytes. */
struct identity {
        uint64_t inode;
        uint32_t major, minor;
        struct statx_timestamp born;
};

struct place {
        char *path;       /* real path on the host */
        const char *name; /* its last component */
        const struct mount *mount;
        struct identity before;
        int listener; /* inotify's watch of the directory, or -1 */
        bool reported;
};

struct mount_watch {
        struct held_sources *held;
        struct place *places;
        size_t count;
        struct str_list directories; /* in which protected names may be created */
        int notify;                  /* the inotify descriptor, or -1 */
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

/* True when the loss of the mount would reveal, or let the sandbox change, what the box does not grant. */
static bool takes_away(const struct mount *mount, bool sockets_guarded)
{
        if (mount->kind == MOUNT_MASK)
                return !sockets_guarded || mount->origin != ORIGIN_SOCKET;
        return mount->kind == MOUNT_OVERLAY || mount->kind == MOUNT_MEMORY ||
               (mount->kind == MOUNT_BIND && !mount->writable);
}

/* True for a mount that an option named, and false for one that hutch added by itself. */
static bool is_asked_for(const struct mount *mount)
{
        return mount->origin == ORIGIN_OPTION || mount->origin == ORIGIN_PERSIST;
}

static void add_place(struct mount_watch *watch, const struct mount *mount, char *path)
{
        struct place place = {.path = path, .name = strrchr(path, '/') + 1, .mount = mount, .listener = -1};
        if (!identify(path, &place.before)) {
                free(path); /* the attempt to make this mount fails and reports it */
                return;
        }
        *array_add(watch->places, watch->count) = place;
}

/* True when the grant `holder` shows and permits the same as the mount did. */
static bool is_as_good(const struct mount *holder, const struct mount *mount, const char *place)
{
        return mount->kind == MOUNT_BIND && !holder->writable && str_equal(mount->source, place);
}

/* Adds the host directory entries that `mount` depends on: its own, and those of the mounts that contain it.
 */
static void add_places(struct mount_watch *watch, const struct box *box, const struct mount *mount)
{
        autofree char *inside = str_copy(mount->destination);
        while (inside[1]) {
                autofree char *directory = path_parent(inside);
                const struct mount *holder = box_find_mount(box, directory);
                /* A change in a layer of an overlay does not affect what is mounted on it. */
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
                message("note: hidden and protected paths are not watched while the sandbox runs: %s; raise "
                        "fs.inotify.max_user_instances",
                        strerror(errno));
        struct mount_watch *made = str_or_die(malloc(sizeof(*made)));
        *made = watch;
        return made;
}

/* Reports that a place has lost its mount. False when that ends the sandbox. */
static bool report_loss(struct mount_watch *watch, const struct place *lost)
{
        const struct place *worst = lost;
        /* One directory can lead to several mounts. One message reports them all, as the gravest of them. */
        for (size_t i = 0; i < watch->count; i++) {
                struct place *other = &watch->places[i];
                if (!str_equal(other->path, lost->path))
                        continue;
                other->reported = true;
                if (is_asked_for(other->mount))
                        worst = other;
        }
        const struct mount *mount = worst->mount;
        if (is_asked_for(mount)) {
                message(
                    "%s was replaced while the sandbox ran, so %s (%s) is no longer enforced, which ends the "
                    "sandbox with status 125: start it again; hide or protect the whole directory if its "
                    "files are to be replaced",
                    error_shown(worst->path), error_shown(mount->destination), mount->why);
                return false;
        }
        message("%s was replaced while the sandbox runs, so the command can use %s (%s) until it is "
                "started again: %s",
                error_shown(worst->path), error_shown(mount->destination), mount->why,
                mount->kind == MOUNT_MASK ? "start it again to hide the new object"
                                          : "start it again, and check what the command wrote there");
        return true;
}

/* Compares every place with what was there. False when the sandbox must end. */
static bool compare_places(struct mount_watch *watch)
{
        bool holds = true;
        for (size_t i = 0; i < watch->count; i++) {
                struct place *place = &watch->places[i];
                struct identity now;
                if (!place->reported && identify(place->path, &now) &&
                    memcmp(&now, &place->before, sizeof(now)) != 0)
                        holds &= report_loss(watch, place);
        }
        return holds;
}

/* The inotify watch of one directory, or -1 with errno. */
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
        /* Where this fails, watched_names_report() still finds the names at the end. */
        for (size_t i = 0; watch->notify >= 0 && i < watch->directories.count; i++)
                (void)listen_to(watch, watch->directories.values[i]);
        if (error)
                message("note: some hidden or protected paths are not watched while the sandbox runs: "
                        "%s%s",
                        strerror(error), error == ENOSPC ? "; raise fs.inotify.max_user_watches" : "");
        watched_names_report(watch->held);
        message_verbose("watching %zu mount points on the host", watch->count);
        return compare_places(watch);
}

int mount_watch_descriptor(const struct mount_watch *watch)
{
        return watch && watch->begun ? watch->notify : -1;
}

static bool handle_event(struct mount_watch *watch, const struct inotify_event *event)
{
        if (event->mask & IN_Q_OVERFLOW) {
                watched_names_report(watch->held);
                return compare_places(watch);
        }
        if (!event->len)
                return true;
        if (watched_names_may_concern(watch->held, event->name))
                watched_names_report(watch->held);
        for (size_t i = 0; i < watch->count; i++) {
                struct place *place = &watch->places[i];
                if (!place->reported && place->listener == event->wd && str_equal(place->name, event->name))
                        return report_loss(watch, place);
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
                holds &= handle_event(watch, event);
                at += (ssize_t)(sizeof(*event) + event->len);
        }
        return holds;
}

bool mount_watch_finish(struct mount_watch *watch)
{
        return !watch || watch->begun || compare_places(watch);
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
