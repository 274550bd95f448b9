/* SPDX-License-Identifier: Apache-2.0
 *
 * See tree_walk.h. The walk skips what it cannot open: it was deleted, or is closed to the caller.
 */
#include "lib/tree_walk.h"

#include "lib/fd.h"
#include "lib/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>

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

static bool is_directory(int directory, const struct dirent *entry)
{
        struct stat status;
        if (entry->d_type != DT_UNKNOWN)
                return entry->d_type == DT_DIR;
        return fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
               S_ISDIR(status.st_mode);
}

static void read_entries(struct tree_walk *tree, DIR *directory, const char *relative, unsigned depth)
{
        for (struct dirent *entry; (entry = readdir(directory));) {
                if (str_equal(entry->d_name, ".") || str_equal(entry->d_name, ".."))
                        continue;
                if (++tree->entries > tree->max_entries) {
                        tree->is_cut = true;
                        return;
                }
                bool wanted = tree->entry(tree, dirfd(directory), relative, entry->d_name);
                if (!wanted || depth == tree->max_depth || !is_directory(dirfd(directory), entry))
                        continue;
                autofree char *below = str_format("%s%s%s", relative, relative[0] ? "/" : "", entry->d_name);
                add_directory(tree, below, depth + 1);
        }
}

static void read_directory(struct tree_walk *tree, const char *relative, unsigned depth)
{
        struct open_how how = {
            .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
            .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
        };
        autoclose int opened =
            (int)syscall(SYS_openat2, tree->root, relative[0] ? relative : ".", &how, sizeof(how));
        if (opened < 0 || (tree->enter && !tree->enter(tree, opened, relative)))
                return;
        DIR *directory = fdopendir(opened);
        if (!directory)
                return;
        (void)fd_take(&opened);
        read_entries(tree, directory, relative, depth);
        closedir(directory);
}

void tree_walk(struct tree_walk *tree)
{
        add_directory(tree, "", 0);
        for (; tree->queue_next < tree->queue_count; tree->queue_next++) {
                /* A copy: the queue moves when it grows. */
                struct tree_directory directory = tree->queue[tree->queue_next];
                if (tree->entries <= tree->max_entries)
                        read_directory(tree, directory.relative, directory.depth);
                free(directory.relative);
        }
        free(tree->queue);
        tree->queue = NULL;
        tree->queue_count = tree->queue_next = 0;
}
