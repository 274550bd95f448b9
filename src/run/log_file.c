/* SPDX-License-Identifier: Apache-2.0
 *
 * See log_file.h. A file that the server can write to, or a link that it could have made, must never become
 * the log or the pins: the server could forge its own record, or make hutch write to another file of the
 * caller.
 */
#include "run/log_file.h"

#include "grants/mounts.h"
#include "grants/past_grants.h"
#include "lib/fd.h"
#include "lib/path_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static int fail(struct error *error, const char *option, const char *path, const char *why)
{
        error_set(error, EXIT_SETUP, "%s %s: %s", option, path, why);
        return -1;
}

static int open_file(const struct resolver *resolver, const char *option, const char *path, int access)
{
        struct error *error = resolver->error;
        struct stat status;
        const char *name = strrchr(path, '/') + 1;
        autofree char *directory = path_parent(path);
        const struct walked *walked = path_walk(resolver_walker(resolver), directory);
        if (walked->problem)
                return fail(error, option, path,
                            walked->problem == ENOENT ? "its directory does not exist"
                                                      : strerror(walked->problem));
        autofree char *whole = path_join(walked->real, name);
        if (mounts_find_escape(resolver, walked) || mounts_find_writable(resolver, whole))
                return fail(error, option, path,
                            "the sandbox could write to it; name a file outside every writable grant");
        if (past_grants_find_escape(resolver, walked))
                return fail(
                    error, option, path,
                    "a link leads there out of a directory that an earlier run could write to, and its "
                    "server may have put it there; name the file by its real path");
        int parent = walked->descriptor;
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

int log_file_open(const struct box *box, const char *option, const char *path, int access,
                  struct error *error)
{
        struct box copy = *box; /* only read */
        struct held_sources held = {0};
        const struct resolver resolver = {.box = &copy, .held = &held, .error = error};
        int file = open_file(&resolver, option, path, access);
        held_sources_release(&held);
        return file;
}
