/* SPDX-License-Identifier: Apache-2.0
 *
 * See copy_in.h.
 */
#include "grants/copy_in.h"

#include "grants/grants.h"
#include "grants/mounts.h"
#include "grants/protect.h"
#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>

#define MAX_FILE_BYTES (100ULL << 20)

static bool check_source(const struct walked *source, struct error *error)
{
        const struct stat *status = &source->status;
        const char *path = source->real;
        if (S_ISDIR(status->st_mode))
                return error_set(
                    error, EXIT_SETUP,
                    "cannot copy %s in: it is a directory; grant it with --ro, or name a file in it after "
                    "--file",
                    path);
        if (!S_ISREG(status->st_mode))
                return error_set(error, EXIT_SETUP, "cannot copy %s in: it is not a regular file", path);
        if ((uint64_t)status->st_size > MAX_FILE_BYTES)
                return error_set(error, EXIT_SETUP,
                                 "cannot copy %s in: it has %ju bytes, and --file takes at most %llu; grant "
                                 "it with --ro",
                                 path, (uintmax_t)status->st_size, MAX_FILE_BYTES);
        /* Opening would have effects (a fifo, a device). */
        if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) < 0)
                return error_set(error, EXIT_SETUP, "cannot copy %s in: %s", path, strerror(errno));
        return true;
}

static bool add_file(const struct resolver *resolver, const char *path, const char *remote)
{
        struct box *box = resolver->box;
        const struct walked *source = grants_judge_file(resolver, path, "--file");
        if (!source || !check_source(source, resolver->error))
                return false;
        *array_add(box->files, box->file_count) = (struct copy_in){
            .source = str_copy(source->real),
            .destination = str_copy(remote),
            .device = source->status.st_dev,
            .inode = source->status.st_ino,
            .bytes = (uint64_t)source->status.st_size,
            .mode = source->status.st_mode & 0777,
        };
        return true;
}

bool copy_in_add(const struct resolver *resolver)
{
        const struct options *options = resolver->options;
        for (size_t i = 0; i < options->file_count; i++) {
                autofree char *path = path_join(resolver->cwd, options->files[i].local);
                if (!add_file(resolver, path, options->files[i].remote))
                        return false;
        }
        return true;
}

/* Allows only what the command can write itself, so that --file creates nothing on the host that the command
 * could not have created. */
static bool check_place(const struct box *box, const struct copy_in *file, bool protect, struct error *error)
{
        const char *place = file->destination;
        const struct mount *mount = box_find_mount(box, place);
        bool writable = mount && (mount->kind == MOUNT_MEMORY || mount->kind == MOUNT_OVERLAY ||
                                  (mount->kind == MOUNT_BIND && mount->writable));
        const char *name = strrchr(file->source, '/') + 1;
        if (writable && str_equal(mount->destination, place))
                return error_set(
                    error, EXIT_SETUP,
                    "cannot put a file at %s: that is a grant or a directory of the sandbox; name a path in "
                    "a directory, such as /tmp/%s",
                    place, error_shown(name));
        if (!writable)
                return error_set(error, EXIT_SETUP,
                                 "cannot put a file at %s: the command cannot write there (%s); --file can "
                                 "write below /tmp, the home and directories granted with --rw",
                                 place, mount ? mount->why : "the sandbox's root");
        if (protect && protect_names(box, place))
                return error_set(
                    error, EXIT_SETUP,
                    "cannot put a file at %s: the name is protected, because programs outside the "
                    "sandbox run or obey such a file; --no-protect permits it",
                    place);
        return true;
}

bool copy_in_place(const struct resolver *resolver)
{
        struct box *box = resolver->box;
        for (size_t i = 0; i < box->file_count; i++) {
                struct copy_in *file = &box->files[i];
                char *place = mounts_follow_inside(box, file->destination);
                free(file->destination);
                file->destination = place;
                if (!check_place(box, file, !resolver->options->no_protect, resolver->error))
                        return false;
        }
        return true;
}

const struct copy_in *copy_in_find(const struct box *box, const char *path)
{
        autofree char *place = box->file_count ? mounts_follow_inside(box, path) : NULL;
        for (size_t i = 0; i < box->file_count; i++) {
                autofree char *other = mounts_follow_inside(box, box->files[i].destination);
                if (str_equal(other, place))
                        return &box->files[i];
        }
        return NULL;
}

bool copy_in_lead_to(const struct box *box, const char *path)
{
        autofree char *place = box->file_count ? mounts_follow_inside(box, path) : NULL;
        for (size_t i = 0; i < box->file_count; i++) {
                autofree char *other = mounts_follow_inside(box, box->files[i].destination);
                if (path_is_below(other, place))
                        return true;
        }
        return false;
}
