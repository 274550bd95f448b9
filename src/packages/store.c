/* SPDX-License-Identifier: Apache-2.0
 *
 * See store.h. Names in the store: entries as fetch_name_encode() makes them, which never begin with a dot;
 * ".new:ENTRY" for an unfinished one; ".old:ENTRY:NUMBER" for a replaced or removed one.
 */
#include "packages/store.h"

#include "lib/fd.h"
#include "lib/homes.h"
#include "lib/path_walk.h"
#include "lib/tree_remove.h"
#include "packages/request.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

enum { POLL_MICROSECONDS = 50000 };

#define UNFINISHED ".new:"
#define DISCARDED  ".old:"

static const struct kind {
        const char *directory;             /* in hutch's data directory */
        const char *swept[2];              /* what a sweep removes begins so */
        int lock;                          /* a user's on its entry */
        char *(*decode)(const char *file); /* the name of an entry; NULL for any other file */
} kinds[] = {
    [STORE_PACKAGES] = {"packages", {UNFINISHED, DISCARDED}, LOCK_SH, fetch_name_decode},
};

/* False for root in another user's directory, as with `sudo` and the user's HOME: root's directories there
 * would lock the user out. */
static bool may_make_in(int directory)
{
        struct stat status;
        return geteuid() != 0 || (fstat(directory, &status) == 0 && status.st_uid == 0);
}

/* Opens a directory on the way to hutch's own. The user may have made it a link. */
static int open_way(int parent, const char *name, bool create)
{
        int found = openat(parent, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (found >= 0 || errno != ENOENT || !create)
                return found < 0 ? -errno : found;
        if (!may_make_in(parent))
                return -EPERM;
        if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
                return -errno;
        found = openat(parent, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return found < 0 ? -errno : found;
}

/* Opens a directory that must be the caller's alone. */
static int open_own(int parent, const char *name, bool create)
{
        const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        struct stat status;
        autoclose int found = openat(parent, name, flags);
        if (found < 0 && errno == ENOENT && create) {
                if (!may_make_in(parent))
                        return -EPERM;
                if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
                        return -errno;
                found = openat(parent, name, flags);
        }
        if (found < 0 || fstat(found, &status) < 0)
                return -errno;
        if (status.st_uid != geteuid() || (status.st_mode & 077) != 0)
                return -EPERM;
        return fd_take(&found);
}

/* The path of $XDG_DATA_HOME. By the XDG specification, hutch makes the directory where it is missing and
 * ignores a relative path. *from becomes the directory that must exist already: hutch never makes a home. */
static char *base_path(const char **from)
{
        const char *variable = getenv("XDG_DATA_HOME"), *home = caller_homes()->spelled;
        if (variable && variable[0] == '/') {
                *from = "/";
                return path_join("/", variable);
        }
        *from = home;
        return home[0] ? path_join(home, ".local/share") : NULL;
}

static int open_data(bool create)
{
        const char *from;
        autofree char *path = base_path(&from);
        if (!path)
                return -ENOENT;
        autoclose int directory = open(from, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (directory < 0)
                return -errno;
        char *rest = path + (from[1] ? strlen(from) : 0);
        for (char *part; (part = strsep(&rest, "/"));) {
                int next = *part ? open_way(directory, part, create) : fd_take(&directory);
                if (next < 0)
                        return next;
                fd_close(&directory);
                directory = next;
        }
        return open_own(directory, "hutch", create);
}

int store_open(enum store_kind kind, bool create)
{
        autoclose int data = open_data(create);
        return data < 0 ? data : open_own(data, kinds[kind].directory, create);
}

char *store_path(void)
{
        const char *from;
        autofree char *base = base_path(&from);
        autofree char *path = base ? path_join(base, "hutch") : NULL;
        struct walker walker = {0};
        char *real = path ? path_walk_missing(&walker, path) : NULL;
        walker_release(&walker);
        return real;
}

int store_open_home(const char *name)
{
        autoclose int data = open_data(true);
        autoclose int homes = data < 0 ? data : open_own(data, "homes", true);
        return homes < 0 ? fd_take(&homes) : open_own(homes, name, true);
}

static bool is_at(int store, const char *name, int directory)
{
        struct stat one, other;
        return fstatat(store, name, &one, AT_SYMLINK_NOFOLLOW) == 0 && fstat(directory, &other) == 0 &&
               one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

int store_open_entry(enum store_kind kind, int store, const char *file)
{
        for (;;) {
                autoclose int entry = open_own(store, file, false);
                if (entry < 0)
                        return entry;
                if (flock(entry, kinds[kind].lock) < 0)
                        return -errno;
                /* Another hutch may have replaced the entry while flock() waited. */
                if (is_at(store, file, entry))
                        return fd_take(&entry);
        }
}

static bool is_dot_entry(const char *name)
{
        return str_equal(name, ".") || str_equal(name, "..");
}

/* Removes what a killed fetch left in the directory. */
static int clear_directory(int directory)
{
        autoclose int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *stream = again < 0 ? NULL : fdopendir(again);
        if (!stream)
                return -errno;
        (void)fd_take(&again); /* the stream closes it */
        int error = 0;
        for (const struct dirent *entry; error == 0 && (entry = readdir(stream));)
                if (!is_dot_entry(entry->d_name) && unlinkat(directory, entry->d_name, 0) < 0)
                        error = tree_remove(directory, entry->d_name);
        closedir(stream);
        return error;
}

int store_begin(int store, const char *file, void (*waiting)(void))
{
        autofree char *name = str_format(UNFINISHED "%s", file);
        bool waits = false;
        for (;;) {
                autoclose int directory = open_own(store, name, true);
                if (directory < 0)
                        return directory;
                /* Not a blocking flock(): once the directory is an entry, servers hold its lock for days. */
                bool locked;
                while (!(locked = flock(directory, LOCK_EX | LOCK_NB) == 0) &&
                       is_at(store, name, directory)) {
                        if (errno != EWOULDBLOCK)
                                return -errno;
                        if (!waits)
                                waiting();
                        waits = true;
                        (void)usleep(POLL_MICROSECONDS);
                }
                if (!locked || !is_at(store, name, directory)) {
                        struct stat status;
                        if (fstatat(store, file, &status, AT_SYMLINK_NOFOLLOW) == 0 && waits)
                                return -EEXIST;
                        continue;
                }
                int error = clear_directory(directory);
                return error < 0 ? error : fd_take(&directory);
        }
}

/* A name that no directory has, for an entry that is to be removed. The caller frees. */
static char *discarded_name(const char *file)
{
        unsigned number = 0;
        (void)!getrandom(&number, sizeof(number), 0);
        return str_format(DISCARDED "%s:%08x", file, number);
}

/* Removes a directory of the store unless a process holds its lock. */
static void remove_unused(int store, const char *name)
{
        autoclose int directory = openat(store, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (directory >= 0 && flock(directory, LOCK_EX | LOCK_NB) == 0 && is_at(store, name, directory))
                (void)tree_remove(store, name);
}

int store_commit(int store, const char *file)
{
        autofree char *name = str_format(UNFINISHED "%s", file);
        if (renameat2(store, name, store, file, RENAME_NOREPLACE) == 0)
                return 0;
        if (errno != EEXIST)
                return -errno;
        if (renameat2(store, name, store, file, RENAME_EXCHANGE) < 0)
                return -errno;
        autofree char *old = discarded_name(file);
        if (renameat(store, name, store, old) == 0)
                remove_unused(store, old);
        return 0;
}

void store_abandon(int store, const char *file)
{
        autofree char *name = str_format(UNFINISHED "%s", file);
        (void)tree_remove(store, name);
}

int store_remove(int store, const char *file)
{
        autofree char *old = discarded_name(file);
        if (renameat(store, file, store, old) < 0)
                return -errno;
        remove_unused(store, old);
        return 0;
}

static int compare_texts(const void *a, const void *b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds the names in the store that begin with a dot, or else those of the entries; sorted. */
static void list_names(enum store_kind kind, int store, bool dotted, struct str_list *names)
{
        autoclose int again = openat(store, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *stream = again < 0 ? NULL : fdopendir(again);
        if (!stream)
                return;
        (void)fd_take(&again); /* the stream closes it */
        for (const struct dirent *entry; (entry = readdir(stream));) {
                if (is_dot_entry(entry->d_name) || (entry->d_name[0] == '.') != dotted)
                        continue;
                autofree char *decoded = dotted ? NULL : kinds[kind].decode(entry->d_name);
                if (dotted || decoded)
                        str_list_add(names, entry->d_name);
        }
        closedir(stream);
        if (names->count > 1)
                qsort(names->values, names->count, sizeof(*names->values), compare_texts);
}

void store_sweep(enum store_kind kind, int store)
{
        struct str_list names = {0};
        list_names(kind, store, true, &names);
        for (size_t i = 0; i < names.count; i++)
                if (str_starts(names.values[i], kinds[kind].swept[0]) ||
                    str_starts(names.values[i], kinds[kind].swept[1]))
                        remove_unused(store, names.values[i]);
        str_list_free(&names);
}

void store_list(enum store_kind kind, int store, struct str_list *files)
{
        list_names(kind, store, false, files);
}
