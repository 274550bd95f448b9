/* SPDX-License-Identifier: Apache-2.0
 *
 * See sockets.h. The kernel has one list for each network namespace, and a name in the file system leads to
 * a socket of any of them; so the lists of all processes that can be seen are read, each once.
 */
#include "box/sockets.h"

#include "box/hide.h"
#include "box/mounts.h"
#include "lib/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MOST_NAMESPACES = 256, MOST_LIST_BYTES = 64 << 20 };

/* A socket that is a grant itself was meant. */
static bool is_below_grant(const struct box *box, const char *real)
{
        bool below = false;
        for (size_t i = 0; i < box->mount_count; i++) {
                const struct mount *mount = &box->mounts[i];
                if (!mounts_is_asked_for(mount) || !path_is_below(real, mount->source))
                        continue;
                if (str_equal(real, mount->source))
                        return false;
                below = true;
        }
        return below;
}

static bool hide_socket(struct box *box, const char *path, struct error *error)
{
        struct stat status;
        autofree char *real = realpath(path, NULL);
        if (!real || !is_below_grant(box, real) || lstat(real, &status) < 0 || !S_ISSOCK(status.st_mode))
                return true;
        return hide_object(box, real, false, SOCKET_MASK, error);
}

/* One line: "Num RefCount Protocol Flags Type St Inode Path", where the path begins with a / or it is no name
 * that could be found. */
static bool read_list(struct box *box, int proc, const char *path, struct error *error)
{
        autofree char *text = NULL;
        autoclose int list = openat(proc, path, O_RDONLY | O_CLOEXEC);
        ssize_t length = list < 0 ? -errno : fd_read_all(list, MOST_LIST_BYTES, &text);
        /* A process that has ended meanwhile has no list, and has left none open. */
        if (length == -ENOENT || length == -ESRCH || length == -EACCES || length == -EINVAL)
                return true;
        if (length < 0)
                return error_set(error, EXIT_SETUP, "cannot read the list of sockets /proc/%s: %s", path,
                                 strerror((int)-length));
        for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
                const char *name = strstr(line, " /");
                if (name && !hide_socket(box, name + 1, error))
                        return false;
        }
        return true;
}

bool sockets_can_appear(const struct box *box)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (mounts_is_grant(&box->mounts[i]) && box->mounts[i].is_folder)
                        return true;
        return false;
}

bool sockets_hide(struct box *box, struct error *error)
{
        if (!sockets_can_appear(box))
                return true;

        DIR *proc = opendir("/proc");
        if (!proc)
                return error_set(error, EXIT_SETUP, "cannot look for sockets in /proc: %s", strerror(errno));
        ino_t seen[MOST_NAMESPACES];
        size_t seen_count = 0;
        bool hidden = true;
        for (struct dirent *entry; hidden && (entry = readdir(proc));) {
                if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
                        continue;
                struct stat status;
                autofree char *path = str_format("%s/net/unix", entry->d_name);
                if (fstatat(dirfd(proc), path, &status, 0) < 0)
                        continue;
                /* The file's number is that of the namespace's own list. */
                bool known = false;
                for (size_t i = 0; i < seen_count && !known; i++)
                        known = seen[i] == status.st_ino;
                if (known)
                        continue;
                if (seen_count < MOST_NAMESPACES)
                        seen[seen_count++] = status.st_ino;
                hidden = read_list(box, dirfd(proc), path, error);
        }
        closedir(proc);
        return hidden;
}
