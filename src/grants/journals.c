/* SPDX-License-Identifier: Apache-2.0
 *
 * See journals.h. The locks are part of SQLite's file format (os.h and "WAL-mode File Format"): a program
 * that has a database open in WAL mode holds a shared lock in DATABASE-shm, or an exclusive one on the
 * database; one that writes with a rollback journal holds a write lock on the database.
 */
#include "grants/journals.h"

#include "lib/fd.h"
#include "lib/real_path.h"
#include "lib/tree_walk.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { MAX_DEPTH = 8, MAX_DIRECTORIES = 4000, MAX_ENTRIES = 20000 };

/* True when another process holds a lock, in the file `name`, for which a lock of `type` would have to wait.
 */
static bool is_locked(int directory, const char *name, short type)
{
        struct open_how how = {
            .flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
            .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
        };
        struct stat status;
        /* Opening a device can have effects. */
        if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(status.st_mode))
                return false;
        autoclose int file = (int)syscall(SYS_openat2, directory, name, &how, sizeof(how));
        struct flock lock = {.l_type = type, .l_whence = SEEK_SET};
        return file >= 0 && fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* `name` without the suffix `suffix`, or NULL when it has another one. The caller frees. */
static char *strip_suffix(const char *name, const char *suffix)
{
        size_t length = strlen(name), cut = strlen(suffix);
        bool matches = length > cut && str_equal(name + length - cut, suffix);
        return matches ? str_copy_n(name, length - cut) : NULL;
}

static bool is_in_use(int directory, const char *name)
{
        struct stat status;
        autofree char *with_wal = strip_suffix(name, "-wal");
        autofree char *shared = with_wal ? str_format("%s-shm", with_wal) : NULL;
        if (with_wal)
                return is_locked(directory, shared, F_WRLCK) || is_locked(directory, with_wal, F_RDLCK);
        autofree char *with_journal = strip_suffix(name, "-journal");
        return with_journal && fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
               status.st_size > 0 && is_locked(directory, with_journal, F_RDLCK);
}

struct search {
        const struct mount *overlay;
        struct error *error;
};

static bool check_entry(struct tree_walk *tree, int directory, const char *relative, const char *name)
{
        struct search *search = tree->context;
        if (search->error->status || !is_in_use(directory, name))
                return !search->error->status;
        return error_set(
            search->error, EXIT_SETUP,
            "cannot make an overlay of %s: another program is using the journal %s%s%s in it, and reads "
            "from a database that changes below an overlay can be inconsistent; end that program, or grant "
            "a copy of the directory",
            search->overlay->source, relative, relative[0] ? "/" : "", name);
}

bool journals_check(const struct box *box, struct error *error)
{
        for (size_t i = 0; i < box->mount_count && !error->status; i++) {
                if (box->mounts[i].kind != MOUNT_OVERLAY || !mount_is_grant(&box->mounts[i]))
                        continue;
                autoclose int root = real_path_open(box->mounts[i].source, O_PATH | O_DIRECTORY);
                struct search search = {&box->mounts[i], error};
                struct tree_walk tree = {
                    .root = root,
                    .max_depth = MAX_DEPTH,
                    .max_directories = MAX_DIRECTORIES,
                    .max_entries = MAX_ENTRIES,
                    .context = &search,
                    .entry = check_entry,
                };
                tree_walk(&tree);
        }
        return !error->status;
}
