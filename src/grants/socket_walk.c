/* SPDX-License-Identifier: Apache-2.0
 *
 * See socket_walk.h.
 */
#include "grants/socket_walk.h"

#include "lib/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* False for a file that no program has bound any more. Connecting a datagram socket shows that for every type
 * and network namespace, and no program notices: the kernel refuses a stream socket because of its type, and
 * a datagram socket receives nothing. */
static bool is_in_use(int directory, const char *name)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        autoclose int object = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        autoclose int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (object < 0)
                return errno != ENOENT;
        /* By descriptor: the path can be too long for an address. */
        snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", object);
        return connect(probe, (struct sockaddr *)&address, sizeof(address)) == 0 || errno != ECONNREFUSED;
}

static bool walk_directory(const char *path, const struct str_list *closed, size_t *budget,
                           struct str_list *directories, struct str_list *found)
{
        autoclose int opened = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *directory = opened < 0 ? NULL : fdopendir(opened);
        if (!directory)
                return true; /* deleted meanwhile, or closed to the caller and so to the sandbox */
        (void)fd_take(&opened);
        bool enough = true;
        for (struct dirent *entry; enough && (entry = readdir(directory));) {
                if (str_equal(entry->d_name, ".") || str_equal(entry->d_name, ".."))
                        continue;
                autofree char *found_path = str_format("%s/%s", path[1] ? path : "", entry->d_name);
                if (str_list_has(closed, found_path))
                        continue;
                struct stat status;
                mode_t type = (mode_t)DTTOIF(entry->d_type);
                if (entry->d_type == DT_UNKNOWN &&
                    fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
                        type = status.st_mode & S_IFMT;
                if (type == S_IFDIR)
                        str_list_add(directories, found_path);
                else if (type == S_IFSOCK && is_in_use(dirfd(directory), entry->d_name))
                        str_list_add(found, found_path);
                enough = (*budget)-- > 1;
        }
        closedir(directory);
        return enough;
}

bool socket_walk(const char *root, const struct str_list *closed, size_t *budget, struct str_list *found)
{
        struct str_list directories = {0};
        str_list_add(&directories, root);
        bool enough = *budget > 0;
        for (size_t i = 0; enough && i < directories.count; i++)
                enough = walk_directory(directories.values[i], closed, budget, &directories, found);
        str_list_free(&directories);
        return enough;
}
