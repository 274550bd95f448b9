/* SPDX-License-Identifier: Apache-2.0
 *
 * See copy_in.h.
 *
 * The sources are opened while the host's root is visible, and compared with what was judged. The copies are
 * written when the sandbox has its own root and no capability. A destination may be in a writable grant,
 * which is the host's disk, and an earlier run of the command may have left anything there. So no link is
 * followed and no existing file is opened. Wherever a hostile directory leads, hutch can then write nothing
 * that the command could not write itself. hutch makes nothing else on the host.
 *
 * A copy appears whole or not at all: it is written without a name and then renamed. It replaces a regular
 * file only.
 */
#include "ns/copy_in.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "ns/detached.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>

enum { ASIDE_SIZE = 32, CHUNK = 1 << 16 };

void copy_in_open(struct entering *entering)
{
        const struct box *box = entering->box;
        if (!box->file_count)
                return;
        entering->files = str_or_die(calloc(box->file_count, sizeof(*entering->files)));
        /* Another object may be there by now. Opening a fifo must not wait, and opening a terminal must not
         * make it the controlling one. */
        for (size_t i = 0; i < box->file_count; i++)
                entering->files[i] =
                    detached_open_source(entering, box->files[i].source, O_RDONLY | O_NONBLOCK | O_NOCTTY,
                                         box->files[i].device, box->files[i].inode);
}

/* Opens the directory of the destination and makes what is missing of it. */
static int open_parent(const struct entering *entering, const char *destination)
{
        const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        autofree char *path = path_parent(destination);
        int directory = open("/", flags);
        for (char *rest = path + 1, *name; directory >= 0 && (name = strsep(&rest, "/"));) {
                int next = openat(directory, name, flags);
                if (next < 0 && errno == ENOENT && (mkdirat(directory, name, 0777) == 0 || errno == EEXIST))
                        next = openat(directory, name, flags);
                int error = errno;
                close(directory);
                errno = error;
                directory = next;
        }
        entering_check(entering, STAGE_FILE_PLACE, destination, directory);
        return directory;
}

/* Copies `bytes`, the size that was judged; a file of another size is -ESTALE. 0, or a negative errno, for
 * which *reading tells whether it is about the source. */
static int copy_content(int source, int target, uint64_t bytes, bool *reading)
{
        char chunk[CHUNK];
        uint64_t copied = 0;
        for (;;) {
                ssize_t length = read(source, chunk, sizeof(chunk));
                if (length < 0 && errno == EINTR)
                        continue;
                *reading = true;
                if (length < 0)
                        return -errno;
                copied += (uint64_t)length;
                if (copied > bytes || (length == 0 && copied < bytes))
                        return -ESTALE;
                *reading = false;
                if (length == 0)
                        return 0;
                int error = fd_write_all(target, chunk, (size_t)length);
                if (error < 0)
                        return error;
        }
}

/* Fails when the destination is anything but a regular file or missing. */
static void check_destination(const struct entering *entering, int directory, const struct copy_in *file)
{
        struct stat status;
        const char *name = strrchr(file->destination, '/') + 1;
        bool there = fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
        if (there ? !S_ISREG(status.st_mode) : errno != ENOENT)
                entering_fail(entering, STAGE_FILE_PLACE, there ? EEXIST : errno, file->destination);
}

/* Makes a file without a name, which vanishes when hutch is killed. Where the file system has no O_TMPFILE,
 * or the sandbox has no /proc to name the file by, it is named `aside`. A descriptor, or -1 with errno. */
static int open_target(const struct entering *entering, int directory, const char *aside, bool *named)
{
        int target =
            entering->box->proc ? openat(directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) : -1;
        *named = target < 0;
        return *named ? openat(directory, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
                      : target;
}

/* Gives the complete file its mode and its name. 0, or a negative errno. */
static int give_name(int directory, int target, const char *aside, bool *named, const struct copy_in *file)
{
        char unnamed[ASIDE_SIZE];
        snprintf(unnamed, sizeof(unnamed), "/proc/self/fd/%d", target);
        if (fchmod(target, file->mode) < 0)
                return -errno;
        if (!*named && linkat(AT_FDCWD, unnamed, directory, aside, AT_SYMLINK_FOLLOW) < 0)
                return -errno;
        *named = true;
        return renameat(directory, aside, directory, strrchr(file->destination, '/') + 1) < 0 ? -errno : 0;
}

static void copy_file(const struct entering *entering, const struct copy_in *file, int source)
{
        uint64_t number;
        char aside[ASIDE_SIZE];
        autoclose int directory = open_parent(entering, file->destination);
        check_destination(entering, directory, file);
        if (getrandom(&number, sizeof(number), 0) != sizeof(number))
                entering_fail(entering, STAGE_FILE_PLACE, errno, file->destination);
        snprintf(aside, sizeof(aside), ".hutch-%016llx", (unsigned long long)number);

        bool named, reading = false;
        autoclose int target = entering_check(entering, STAGE_FILE_PLACE, file->destination,
                                              open_target(entering, directory, aside, &named));
        int error = copy_content(source, target, file->bytes, &reading);
        if (error == 0)
                error = give_name(directory, target, aside, &named, file);
        if (error == 0)
                return;
        if (named)
                (void)unlinkat(directory, aside, 0);
        entering_fail(entering, reading ? STAGE_FILE_READ : STAGE_FILE_PLACE, -error,
                      reading ? file->source : file->destination);
}

void copy_in_write(struct entering *entering)
{
        const struct box *box = entering->box;
        for (size_t i = 0; i < box->file_count; i++) {
                copy_file(entering, &box->files[i], entering->files[i]);
                fd_close(&entering->files[i]);
        }
}
