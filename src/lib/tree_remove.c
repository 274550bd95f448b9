/* SPDX-License-Identifier: Apache-2.0
 *
 * See tree_remove.h. A server can make a tree of any depth, so this module does not descend: it moves each
 * deeper directory up into the top one, under a new name, and empties it there. The caller holds a lock that
 * excludes every other hutch, and no sandbox that could write here exists any more.
 */
#include "lib/tree_remove.h"

#include "lib/fd.h"
#include "lib/tree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* Opens a directory after making it readable and writable for its owner. By descriptor, so that it follows no
 * link. */
static int open_up(int parent, const char *name)
{
        char path[64];
        struct stat status;
        autoclose int found = openat(parent, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
        if (found < 0 || fstat(found, &status) < 0)
                return -1;
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
        if ((status.st_mode & 0700) != 0700 && chmod(path, 0700) < 0)
                return -1;
        return openat(found, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Empties the directory `name` of `top`: deletes files and moves directories up into `top`. For ".", deletes
 * the files of `top` and leaves the directories to the caller. *directories becomes true when there are any.
 * False with errno where something cannot be removed. */
static bool empty(int top, const char *name, unsigned *counter, bool *directories)
{
        autoclose int opened = open_up(top, name);
        autoclosedir DIR *stream = opened < 0 ? NULL : tree_open(opened, ".");
        if (!stream)
                return false;
        for (const struct dirent *entry; (entry = tree_next(stream));) {
                const char *found = entry->d_name;
                if (unlinkat(dirfd(stream), found, 0) == 0)
                        continue;
                if (errno != EISDIR && errno != EPERM)
                        return false;
                *directories = true;
                if (strcmp(name, ".") == 0)
                        continue;
                char moved[32];
                do
                        (void)snprintf(moved, sizeof(moved), ".moved-%u", (*counter)++);
                while (faccessat(top, moved, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
                /* A directory that gets another parent must be writable itself. */
                autoclose int writable = open_up(dirfd(stream), found);
                if (writable < 0 || renameat(dirfd(stream), found, top, moved) < 0)
                        return false;
        }
        return true;
}

/* Empties and removes each directory of `top`. *directories becomes true when some may be left, of those that
 * were moved up. */
static bool empty_directories(int top, unsigned *counter, bool *directories)
{
        autoclosedir DIR *stream = tree_open(top, ".");
        if (!stream)
                return false;
        for (const struct dirent *entry; (entry = tree_next(stream));) {
                if (!empty(top, entry->d_name, counter, directories) ||
                    unlinkat(top, entry->d_name, AT_REMOVEDIR) < 0)
                        return false;
        }
        return true;
}

int tree_remove(int parent, const char *name)
{
        autoclose int top = open_up(parent, name);
        if (top < 0)
                return errno == ENOENT ? 0 : -errno;
        unsigned counter = 0;
        bool directories = false;
        if (!empty(top, ".", &counter, &directories))
                return -errno;
        while (directories) {
                directories = false;
                if (!empty_directories(top, &counter, &directories))
                        return -errno;
        }
        return unlinkat(parent, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}
