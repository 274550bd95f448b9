/* SPDX-License-Identifier: Apache-2.0
 *
 * See log_file.h. A file that the server can write to, or a link that it could have made, must never become
 * the log or the pins: the server could forge its own record, or make hutch write to another file of the
 * caller.
 */
#include "run/log_file.h"

#include "grants/mounts.h"
#include "lib/fd.h"
#include "lib/real_path.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static int fail(struct error *error, const char *option, const char *path, const char *why)
{
        error_set(error, EXIT_SETUP, "%s %s: %s", option, path, why);
        return -1;
}

int log_file_open(const struct box *box, const char *option, const char *path, int access,
                  struct error *error)
{
        static const char reachable[] =
            "the sandbox could write to it; name a file outside every writable grant";
        const struct mount *left = NULL;
        struct stat status;
        const char *name = strrchr(path, '/') + 1;
        autofree char *directory = path_parent(path);
        autofree char *real = mounts_resolve(box, directory, &left);
        if (!real)
                return fail(error, option, path,
                            errno == ENOENT ? "its directory does not exist" : strerror(errno));
        autofree char *whole = path_join(real, name);
        if (left || mounts_find_writable(box, whole))
                return fail(error, option, path, reachable);
        autoclose int parent = real_path_open(real, O_PATH | O_DIRECTORY);
        if (parent < 0)
                return fail(error, option, path, strerror(errno));
        autoclose int file = openat(
            parent, name, access | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
        if (file < 0)
                return fail(error, option, path,
                            errno == ELOOP ? "it is a link; name the file itself" : strerror(errno));
        if (fstat(file, &status) < 0 || !S_ISREG(status.st_mode))
                return fail(error, option, path, "not a regular file");
        if (status.st_uid != geteuid() || status.st_nlink != 1)
                return fail(error, option, path, "it belongs to another account, or has a second hard link");
        return fd_take(&file);
}
