/* SPDX-License-Identifier: Apache-2.0
 *
 * See run_store.h. The name of a file is the time of its start, so names sort by age. Only the run that made
 * a file writes to it, so nothing is ever replaced. A run that is killed leaves a file whose lock is free; it
 * is listed like every other and removed in its turn.
 */
#include "run/run_store.h"

#include "command/server_name.h"
#include "grants/mounts.h"
#include "lib/fd.h"
#include "lib/own_directory.h"
#include "lib/tree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
        TIME_DIGITS = 13, /* microseconds since 1970 in hexadecimal, until the year 2112 */
        FILE_NAME_LENGTH = TIME_DIGITS + 1 + 8,
};

/* ---- the directories ---- */

int run_store_open(bool create)
{
        autoclose int own = own_directory_of(&own_base_state, create);
        return own < 0 ? fd_take(&own) : own_directory_open(own, "runs", create);
}

/* Compares by device and inode on the way up, because a directory can be reached by several paths, and by
 * path for grants below. */
bool run_store_is_exposed(int runs, const struct box *box)
{
        if (!mounts_any_writable(box))
                return false;
        char link[32], path[PATH_MAX];
        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", runs);
        ssize_t length = readlink(link, path, sizeof(path) - 1);
        path[length > 0 ? length : 0] = 0;
        for (bool lowest = true;; lowest = false) {
                struct stat status;
                if (stat(path, &status) < 0)
                        return true;
                for (size_t i = 0; i < box->mount_count; i++) {
                        const struct mount *mount = &box->mounts[i];
                        if (mount->kind == MOUNT_BIND && mount->writable &&
                            ((mount->device == status.st_dev && mount->inode == status.st_ino) ||
                             (lowest && path_is_below(mount->source, path))))
                                return true;
                }
                char *slash = strrchr(path, '/');
                if (!slash[1])
                        return false;
                slash[slash == path] = 0; /* the last of them is "/" */
        }
}

/* ---- names ---- */

/* The name of a server's directory: the one slash that a server's name can have becomes %. The caller frees.
 */
static char *make_directory_name(const char *name)
{
        char *directory = str_copy(name);
        char *slash = strchr(directory, '/');
        if (slash)
                *slash = '%';
        return directory;
}

/* The server's name, or NULL when hutch did not make this directory. The caller frees. */
static char *read_directory_name(const char *directory)
{
        autofree char *name = str_copy(directory);
        char *percent = strchr(name, '%');
        if (percent)
                *percent = '/';
        autofree char *clean = server_name_clean(name);
        return str_equal(clean, name) ? str_copy(name) : NULL;
}

static bool is_file_name(const char *name)
{
        return strlen(name) == FILE_NAME_LENGTH && name[TIME_DIGITS] == '.' &&
               strspn(name, "0123456789abcdef") == TIME_DIGITS &&
               strspn(name + TIME_DIGITS + 1, "0123456789abcdef") == 8;
}

static bool is_directory_name(const char *name)
{
        autofree char *server = read_directory_name(name);
        return server != NULL;
}

/* ---- files ---- */

/* Opens the file of a run without blocking, whatever has its name. -1 when it is not a regular file of the
 * caller. */
static int open_run(int directory, const char *name)
{
        autoclose int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        struct stat status;
        if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid())
                return -1;
        return fd_take(&fd);
}

/* Tests the lock without taking it, so that a test never delays a run. */
static bool is_locked(int fd)
{
        struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
        return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* Removes the file of a finished run, or another object with such a name. */
static void remove_finished(int directory, const char *name)
{
        autoclose int fd = open_run(directory, name);
        if (fd < 0 || !is_locked(fd))
                (void)unlinkat(directory, name, 0);
}

static void remove_oldest_runs(int directory, size_t keep)
{
        struct str_list names = {0};
        (void)tree_list(directory, is_file_name, SIZE_MAX, &names);
        for (size_t i = 0; i + keep < names.count; i++)
                remove_finished(directory, names.values[i]);
        str_list_free(&names);
}

/* Removes the directories that were not used for longest, until few enough are left. A directory with a
 * running sandbox stays. */
static void remove_oldest_servers(int runs)
{
        struct str_list names = {0};
        (void)tree_list(runs, is_directory_name, SIZE_MAX, &names);
        size_t left = names.count;
        while (left > RUN_STORE_SERVERS_MAX) {
                size_t oldest = names.count;
                struct timespec time = {0};
                for (size_t i = 0; i < names.count; i++) {
                        struct stat status;
                        if (!names.values[i][0] ||
                            fstatat(runs, names.values[i], &status, AT_SYMLINK_NOFOLLOW) < 0)
                                continue;
                        bool older =
                            status.st_mtim.tv_sec < time.tv_sec ||
                            (status.st_mtim.tv_sec == time.tv_sec && status.st_mtim.tv_nsec < time.tv_nsec);
                        if (oldest == names.count || older) {
                                time = status.st_mtim;
                                oldest = i;
                        }
                }
                if (oldest == names.count)
                        break;
                autoclose int directory = own_directory_open(runs, names.values[oldest], false);
                if (directory >= 0)
                        remove_oldest_runs(directory, 0);
                if (unlinkat(runs, names.values[oldest], AT_REMOVEDIR) == 0)
                        left--;
                names.values[oldest][0] = 0; /* do not look at it again */
        }
        str_list_free(&names);
}

uint32_t run_store_new_id(void)
{
        uint32_t id = 0;
        return getrandom(&id, sizeof(id), GRND_NONBLOCK) == sizeof(id) ? id : (uint32_t)getpid();
}

int run_store_add_run(int runs, const char *name, uint32_t id)
{
        autofree char *directory_name = make_directory_name(name);
        autoclose int directory = own_directory_open(runs, directory_name, false);
        if (directory >= 0) {
                remove_oldest_runs(directory, RUN_STORE_RUNS_MAX - 1);
        } else {
                directory = own_directory_open(runs, directory_name, true);
                if (directory < 0)
                        return directory;
                remove_oldest_servers(runs);
        }

        struct timespec now;
        char file[FILE_NAME_LENGTH + 1];
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(file, sizeof(file), "%013" PRIx64 ".%08" PRIx32,
                 ((uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000) & ((UINT64_C(1) << 52) - 1),
                 id);
        autoclose int fd =
            openat(directory, file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        if (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
                int error = -errno;
                (void)unlinkat(directory, file, 0);
                return error;
        }
        return fd_take(&fd);
}

/* ---- reading ---- */

static void read_run(int directory, const char *server, const char *file, struct run_store_runs *list)
{
        autoclose int fd = open_run(directory, file);
        if (fd < 0)
                return;
        struct run_store_run run = {.running = is_locked(fd)};
        ssize_t length = fd_read_all(fd, RUN_STORE_FILE_MAX, &run.text);
        if (length <= 0) { /* a run that has not written yet, or was killed before it did */
                free(run.text);
                return;
        }
        run.text_length = (size_t)length;
        run.name = str_copy(server);
        run.started = strtoull(file, NULL, 16);
        memcpy(run.id, file + TIME_DIGITS + 1, sizeof(run.id));
        *array_add(list->runs, list->count) = run;
}

static void read_server(int runs, const char *directory_name, struct run_store_runs *list)
{
        autoclose int directory = own_directory_open(runs, directory_name, false);
        autofree char *server = read_directory_name(directory_name);
        struct str_list files = {0};
        if (directory < 0)
                return;
        (void)tree_list(directory, is_file_name, SIZE_MAX, &files);
        for (size_t i = 0; i < files.count; i++)
                read_run(directory, server, files.values[i], list);
        str_list_free(&files);
}

static int compare_runs(const void *a, const void *b)
{
        const struct run_store_run *one = a, *other = b;
        return one->started < other->started ? -1 : one->started > other->started;
}

int run_store_read(const char *name, struct run_store_runs *list)
{
        *list = (struct run_store_runs){0};
        autoclose int runs = run_store_open(false);
        if (runs < 0)
                return runs == -ENOENT ? 0 : runs;
        struct str_list directories = {0};
        if (name)
                str_list_take(&directories, make_directory_name(name));
        else
                (void)tree_list(runs, is_directory_name, SIZE_MAX, &directories);
        for (size_t i = 0; i < directories.count; i++)
                read_server(runs, directories.values[i], list);
        str_list_free(&directories);
        if (list->count > 1)
                qsort(list->runs, list->count, sizeof(*list->runs), compare_runs);
        return 0;
}

void run_store_runs_free(struct run_store_runs *list)
{
        for (size_t i = 0; i < list->count; i++) {
                free(list->runs[i].name);
                free(list->runs[i].text);
        }
        free(list->runs);
        *list = (struct run_store_runs){0};
}
