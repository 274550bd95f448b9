/* SPDX-License-Identifier: Apache-2.0
 *
 * --file: copies what the person sends in. The files are opened while the host can still be seen, and
 * compared with what was judged. They are written when the sandbox has no other root and no capability any
 * more: a writable grant is the host's disk, this is the one thing that hutch ever makes there, and the
 * command may have left anything in it. So no link is followed and nothing that exists is opened, and
 * wherever a hostile directory led, nothing could be written that the command could not write itself.
 *
 * A file appears whole or not at all: written without a name, then renamed to its own. What stands at the
 * place is replaced only if it is a file.
 */
#include "lib/fd.h"
#include "lib/str.h"
#include "ns/entering.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { ASIDE_SIZE = 32, CHUNK = 1 << 16 };

static int open_source(const struct entering *entering, const struct copy_in *file)
{
        struct open_how how = {
            /* Whatever was put there in the meantime: opening it neither waits nor makes a terminal ours. */
            .flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
            .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
        };
        struct stat status;
        int source = (int)syscall(SYS_openat2, AT_FDCWD, file->source, &how, sizeof(how));
        if (source < 0 && (errno == ELOOP || errno == ENXIO))
                entering_fail(entering, STAGE_SWAPPED, errno, file->source);
        if (source < 0 || fstat(source, &status) < 0)
                entering_fail(entering, STAGE_SOURCE, errno, file->source);
        if (status.st_dev != file->device || status.st_ino != file->inode)
                entering_fail(entering, STAGE_SWAPPED, ESTALE, file->source);
        return source;
}

void copy_in_open(struct entering *entering)
{
        const struct box *box = entering->box;
        if (!box->file_count)
                return;
        entering->files = str_or_die(calloc(box->file_count, sizeof(*entering->files)));
        for (size_t i = 0; i < box->file_count; i++)
                entering->files[i] = open_source(entering, &box->files[i]);
}

/* The directory that is to hold the file, made as far as it is missing. */
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
        if (directory < 0)
                entering_fail(entering, STAGE_FILE_PLACE, errno, destination);
        return directory;
}

/* What is in one becomes what is in the other, as long as that is the size that was judged. 0, or a negative
 * errno with *reading telling which of the two it is about. */
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

/* Fails unless nothing, or a file, is at the place. */
static void check_place(const struct entering *entering, int directory, const struct copy_in *file)
{
        struct stat status;
        const char *name = strrchr(file->destination, '/') + 1;
        if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
                if (errno != ENOENT)
                        entering_fail(entering, STAGE_FILE_PLACE, errno, file->destination);
        } else if (!S_ISREG(status.st_mode)) {
                entering_fail(entering, STAGE_FILE_PLACE, EEXIST, file->destination);
        }
}

/* A file without a name, which vanishes when hutch is killed in the middle; with the name `aside` where the
 * file system, or a sandbox without /proc, has no such. A descriptor, or -1 with errno. */
static int open_target(const struct entering *entering, int directory, const char *aside, bool *named)
{
        int target =
            entering->box->proc ? openat(directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) : -1;
        *named = target < 0;
        return *named ? openat(directory, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
                      : target;
}

/* Gives the complete file its mode and its place. 0, or a negative errno. */
static int settle(int directory, int target, const char *aside, bool *named, const struct copy_in *file)
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

static void write_file(const struct entering *entering, const struct copy_in *file, int source)
{
        uint64_t number;
        char aside[ASIDE_SIZE];
        autoclose int directory = open_parent(entering, file->destination);
        check_place(entering, directory, file);
        if (getrandom(&number, sizeof(number), 0) != sizeof(number))
                entering_fail(entering, STAGE_FILE_PLACE, errno, file->destination);
        snprintf(aside, sizeof(aside), ".hutch-%016llx", (unsigned long long)number);

        bool named, reading = false;
        autoclose int target = open_target(entering, directory, aside, &named);
        if (target < 0)
                entering_fail(entering, STAGE_FILE_PLACE, errno, file->destination);
        int error = copy_content(source, target, file->bytes, &reading);
        if (error == 0)
                error = settle(directory, target, aside, &named, file);
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
                write_file(entering, &box->files[i], entering->files[i]);
                fd_close(&entering->files[i]);
        }
}
