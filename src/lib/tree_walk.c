/* SPDX-License-Identifier: Apache-2.0
 *
 * See tree_walk.h.
 */
#include "lib/tree_walk.h"

#include "lib/fd.h"
#include "lib/path_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* The stream owns the descriptor from now on. NULL with errno. */
static DIR *stream_of(int opened)
{
        DIR *stream = opened < 0 ? NULL : fdopendir(opened);
        if (!stream && opened >= 0)
                close(opened);
        return stream;
}

DIR *tree_open(int parent, const char *name)
{
        return stream_of(openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

const struct dirent *tree_next(DIR *stream)
{
        const struct dirent *entry;
        do
                entry = readdir(stream);
        while (entry && (str_equal(entry->d_name, ".") || str_equal(entry->d_name, "..")));
        return entry;
}

mode_t tree_entry_type(DIR *stream, const struct dirent *entry)
{
        struct stat status;
        if (entry->d_type != DT_UNKNOWN)
                return (mode_t)DTTOIF(entry->d_type);
        return fstatat(dirfd(stream), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0
                   ? status.st_mode & S_IFMT
                   : 0;
}

static int compare_names(const void *a, const void *b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

bool tree_list(int directory, bool (*wanted)(const char *name), size_t most, struct str_list *names)
{
        autoclosedir DIR *stream = tree_open(directory, ".");
        for (const struct dirent *entry; stream && names->count < most && (entry = tree_next(stream));)
                if (!wanted || wanted(entry->d_name))
                        str_list_add(names, entry->d_name);
        if (names->count > 1)
                qsort(names->values, names->count, sizeof(*names->values), compare_names);
        return stream;
}

struct tree_directory {
        char *relative;
        unsigned depth;
};

static void add_directory(struct tree_walk *tree, const char *relative, unsigned depth)
{
        if (tree->queue_count == tree->max_directories) {
                tree->is_cut = true;
                return;
        }
        *array_add(tree->queue, tree->queue_count) = (struct tree_directory){str_copy(relative), depth};
}

void tree_walk_add(struct tree_walk *tree, const char *relative)
{
        add_directory(tree, relative, 0);
}

static void read_entries(struct tree_walk *tree, DIR *stream, const char *relative, unsigned depth)
{
        for (const struct dirent *entry; !tree->is_ended && (entry = tree_next(stream));) {
                if (++tree->entries > tree->max_entries) {
                        tree->is_cut = true;
                        return;
                }
                bool wanted = tree->entry(tree, dirfd(stream), relative, entry->d_name);
                if (!wanted || depth == tree->max_depth || tree_entry_type(stream, entry) != S_IFDIR)
                        continue;
                autofree char *below = str_format("%s%s%s", relative, relative[0] ? "/" : "", entry->d_name);
                add_directory(tree, below, depth + 1);
        }
}

/* The id of a mount; 0 when the kernel does not tell. */
static uint64_t mount_of(int directory)
{
        struct statx status;
        return statx(directory, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) < 0 ? 0 : status.stx_mnt_id;
}

/* A container's filter may not have openat2(2), and a directory that nobody reads is one that nobody protects
 * or hides: then component by component. */
static int open_directory(const struct tree_walk *tree, const char *name)
{
        struct open_how how = {
            .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
            .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS |
                       (tree->other_mounts ? 0U : RESOLVE_NO_XDEV),
        };
        int opened = (int)syscall(SYS_openat2, tree->root, name, &how, sizeof(how));
        if (opened >= 0 || errno != ENOSYS)
                return opened;
        autoclose int found = real_path_open(tree->root, name, O_RDONLY | O_DIRECTORY);
        if (found >= 0 && !tree->other_mounts && mount_of(found) != mount_of(tree->root)) {
                errno = EXDEV;
                return -1;
        }
        return fd_take(&found);
}

static void read_directory(struct tree_walk *tree, const char *relative, unsigned depth)
{
        int opened = open_directory(tree, relative[0] ? relative : ".");
        autoclosedir DIR *stream = stream_of(opened);
        if (!stream && tree->unopened)
                tree->unopened(tree, relative);
        if (stream && (!tree->enter || tree->enter(tree, dirfd(stream), relative)))
                read_entries(tree, stream, relative, depth);
}

void tree_walk(struct tree_walk *tree)
{
        add_directory(tree, "", 0);
        for (; tree->queue_next < tree->queue_count; tree->queue_next++) {
                /* A copy: the queue moves when it grows. */
                struct tree_directory directory = tree->queue[tree->queue_next];
                if (!tree->is_ended && tree->entries <= tree->max_entries)
                        read_directory(tree, directory.relative, directory.depth);
                free(directory.relative);
        }
        free(tree->queue);
        tree->queue = NULL;
        tree->queue_count = tree->queue_next = 0;
}
