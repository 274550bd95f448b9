/* SPDX-License-Identifier: Apache-2.0
 *
 * See own_directory.h.
 */
#include "lib/own_directory.h"

#include "lib/fd.h"
#include "lib/homes.h"
#include "lib/str.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* Opens a directory, and with `create` makes a missing one. Not as root in another user's directory, as with
 * `sudo` and the user's HOME: root's directories there would lock the user out. */
static int open_or_make(int parent, const char *name, int flags, bool create)
{
        struct stat status;
        flags |= O_DIRECTORY | O_CLOEXEC;
        int found = openat(parent, name, flags);
        if (found < 0 && errno == ENOENT && create) {
                if (geteuid() == 0 && (fstat(parent, &status) < 0 || status.st_uid != 0))
                        return -EPERM;
                if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
                        return -errno;
                found = openat(parent, name, flags);
        }
        return found < 0 ? -errno : found;
}

int own_directory_open(int parent, const char *name, bool create)
{
        struct stat status;
        autoclose int found = open_or_make(parent, name, O_RDONLY | O_NOFOLLOW, create);
        if (found < 0)
                return fd_take(&found);
        if (fstat(found, &status) < 0)
                return -errno;
        if (status.st_uid != geteuid() || (status.st_mode & 077) != 0)
                return -EPERM;
        return fd_take(&found);
}

const struct own_base own_base_state = {"XDG_STATE_HOME", ".local/state"};

/* The path of the XDG directory. By the specification, a missing one is made and a relative one ignored.
 * *from becomes the directory that must exist already. */
static char *base_path(const struct own_base *base, const char **from)
{
        const char *variable = getenv(base->variable), *home = caller_homes()->spelled;
        bool is_moved = variable && variable[0] == '/';
        *from = is_moved ? "/" : home;
        return is_moved ? path_join("/", variable) : home[0] ? path_join(home, base->below_home) : NULL;
}

int own_directory_of(const struct own_base *base, bool create)
{
        const char *from;
        autofree char *path = base_path(base, &from);
        if (!path)
                return -ENOENT;
        autoclose int directory = open(from, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (directory < 0)
                return -errno;
        char *rest = path + (from[1] ? strlen(from) : 0);
        for (char *part; (part = strsep(&rest, "/"));) {
                /* The user may have made a directory on the way a link. */
                int next = *part ? open_or_make(directory, part, O_PATH, create) : fd_take(&directory);
                if (next < 0)
                        return next;
                fd_close(&directory);
                directory = next;
        }
        return own_directory_open(directory, "hutch", create);
}

char *own_directory_path(const struct own_base *base)
{
        const char *from;
        autofree char *path = base_path(base, &from);
        return path ? path_join(path, "hutch") : NULL;
}

const char *own_directory_explain(int error)
{
        return error == -EPERM ? "it must belong to this account and have mode 0700" : strerror(-error);
}
