/* SPDX-License-Identifier: Apache-2.0
 *
 * See persist.h.
 */
#include "packages/persist.h"

#include "grants/mounts.h"
#include "lib/fd.h"
#include "lib/path_walk.h"
#include "packages/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

bool persist_add(const struct resolver *resolver)
{
        struct box *box = resolver->box;
        const struct options *options = resolver->options;
        if (!options->persist)
                return true;
        autoclose int directory = store_open_home(options->persist);
        autofree char *real = directory < 0 ? NULL : real_path_of_descriptor(directory);
        if (!real)
                return error_set(resolver->error, EXIT_SETUP, "cannot make the home of --persist %s: %s",
                                 error_shown(options->persist),
                                 directory == -EPERM
                                     ? "a directory on the way does not belong to this account with mode 0700"
                                 : directory < 0 ? strerror(-directory)
                                                 : strerror(errno));
        autofree char *home = mounts_follow_inside(box, box->home);
        mounts_make_room(box, home);
        return mounts_add_bind(resolver, real, home, true, REASON_PERSIST);
}

/* Makes the missing directories of `path` below the directory, and opens the last one. It follows no link,
 * because the server may have made it. */
static int make_directories(int directory, const char *path)
{
        autofree char *rest = str_copy(path);
        autoclose int at = openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        char *left = rest;
        for (char *part; at >= 0 && (part = strsep(&left, "/"));) {
                if (!*part)
                        continue;
                if (mkdirat(at, part, 0700) < 0 && errno != EEXIST)
                        return -errno;
                int next = openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                int error = errno;
                close(at);
                at = -1;
                if (next < 0)
                        return -error;
                at = next;
        }
        return at < 0 ? -errno : fd_take(&at);
}

static int make_point(int home, const struct mount *mount, const char *path)
{
        const char *name = strrchr(path, '/') + 1;
        autofree char *above = path_parent(path);
        bool directory = mount->kind == MOUNT_MEMORY || mount->kind == MOUNT_OVERLAY || mount->is_directory;
        autoclose int parent = make_directories(home, directory ? path : above);
        if (parent < 0 || directory)
                return parent < 0 ? parent : 0;
        if (mount->kind == MOUNT_LINK)
                return symlinkat(mount->source, parent, name) < 0 && errno != EEXIST ? -errno : 0;
        autoclose int file = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (file < 0)
                file = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        return file < 0 ? -errno : 0;
}

bool persist_make_mount_points(const struct resolver *resolver)
{
        struct box *box = resolver->box;
        const struct options *options = resolver->options;
        autofree char *place = mounts_follow_inside(box, box->home);
        const struct mount *home = options->persist ? box_find_mount(box, place) : NULL;
        if (!home || home->origin != ORIGIN_PERSIST)
                return true;
        autoclose int directory = real_path_open(AT_FDCWD, home->source, O_RDONLY | O_DIRECTORY);
        for (size_t i = 0; directory >= 0 && i < box->mount_count; i++) {
                const struct mount *mount = &box->mounts[i];
                autofree char *above = path_parent(mount->destination);
                /* The mount point of a mount that is inside another one belongs to that one. */
                if (mount == home || !path_is_below(mount->destination, home->destination) ||
                    box_find_mount(box, above) != home)
                        continue;
                int made = make_point(directory, mount, mount->destination + strlen(home->destination));
                if (made < 0)
                        return error_set(resolver->error, EXIT_SETUP,
                                         "cannot make a place for %s in the home of --persist %s: %s",
                                         mount->destination, error_shown(options->persist), strerror(-made));
        }
        return directory >= 0 ||
               error_set(resolver->error, EXIT_SETUP, "cannot open %s: %s", home->source, strerror(errno));
}
