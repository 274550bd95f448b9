/* SPDX-License-Identifier: Apache-2.0
 *
 * See store.h. Names in the store: entries as fetch_name_encode() makes them, which never begin with a dot;
 * ".new:ENTRY" for an unfinished one; ".old:ENTRY:NUMBER" for a replaced or removed one.
 */
#include "packages/store.h"

#include "lib/fd.h"
#include "lib/own_directory.h"
#include "lib/path_walk.h"
#include "lib/tree_remove.h"
#include "lib/tree_walk.h"
#include "packages/request.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

enum { POLL_MICROSECONDS = 50000 };

#define UNFINISHED ".new:"
#define DISCARDED  ".old:"

static const struct own_base data = {"XDG_DATA_HOME", ".local/share"};

static bool is_dotted(const char *name)
{
        return str_starts(name, UNFINISHED) || str_starts(name, DISCARDED);
}

static bool is_package(const char *name)
{
        autofree char *decoded = name[0] == '.' ? NULL : fetch_name_decode(name);
        return decoded;
}

static const struct kind {
        const char *directory;              /* in hutch's data directory */
        bool (*is_swept)(const char *name); /* a sweep removes it when nobody uses it */
        bool (*is_entry)(const char *name);
        int lock; /* a user's on its entry */
} kinds[] = {
    [STORE_PACKAGES] = {"packages", is_dotted, is_package, LOCK_SH},
};

int store_open(enum store_kind kind, bool create)
{
        autoclose int own = own_directory_of(&data, create);
        return own < 0 ? fd_take(&own) : own_directory_open(own, kinds[kind].directory, create);
}

char *store_path(void)
{
        autofree char *path = own_directory_path(&data);
        return path ? real_path_of_missing(path) : NULL;
}

int store_open_home(const char *name)
{
        autoclose int own = own_directory_of(&data, true);
        autoclose int homes = own < 0 ? fd_take(&own) : own_directory_open(own, "homes", true);
        return homes < 0 ? fd_take(&homes) : own_directory_open(homes, name, true);
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
                autoclose int entry = own_directory_open(store, file, false);
                if (entry < 0)
                        return entry;
                if (flock(entry, kinds[kind].lock) < 0)
                        return -errno;
                /* Another hutch may have replaced the entry while flock() waited. */
                if (is_at(store, file, entry))
                        return fd_take(&entry);
        }
}

/* Removes what a killed fetch left in the directory. */
static int clear_directory(int directory)
{
        autoclosedir DIR *stream = tree_open(directory, ".");
        int error = stream ? 0 : -errno;
        for (const struct dirent *entry; error == 0 && (entry = tree_next(stream));)
                if (unlinkat(directory, entry->d_name, 0) < 0)
                        error = tree_remove(directory, entry->d_name);
        return error;
}

int store_begin(int store, const char *file, void (*waiting)(void))
{
        autofree char *name = str_format(UNFINISHED "%s", file);
        bool waits = false;
        for (;;) {
                autoclose int directory = own_directory_open(store, name, true);
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

void store_sweep(enum store_kind kind, int store)
{
        struct str_list names = {0};
        (void)tree_list(store, kinds[kind].is_swept, SIZE_MAX, &names);
        for (size_t i = 0; i < names.count; i++)
                remove_unused(store, names.values[i]);
        str_list_free(&names);
}

void store_list(enum store_kind kind, int store, struct str_list *files)
{
        (void)tree_list(store, kinds[kind].is_entry, SIZE_MAX, files);
}
