/* SPDX-License-Identifier: Apache-2.0
 *
 * See journals.h. Where the locks are is part of SQLite's file format (its os.h and walformat): who has a
 * database open in WAL mode holds a shared lock in DATABASE-shm for as long, or an exclusive one on the
 * database; who writes with a rollback journal holds a write lock on the database.
 */
#include "grants/journals.h"

#include "grants/mounts.h"
#include "lib/fd.h"
#include "lib/real_path.h"
#include "lib/tree_walk.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { MOST_DEPTH = 8, MOST_DIRECTORIES = 4000, MOST_ENTRIES = 20000 };

/* True when somebody else holds a lock, in the file of that name, that a lock of `type` would have to wait
 * for. */
static bool is_locked(int directory, const char *name, short type)
{
        struct open_how how = {
            .flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
            .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
        };
        struct stat status;
        /* Not to open a device, of which opening may be an action. */
        if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(status.st_mode))
                return false;
        autoclose int file = (int)syscall(SYS_openat2, directory, name, &how, sizeof(how));
        struct flock lock = {.l_type = type, .l_whence = SEEK_SET};
        return file >= 0 && fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* The name of the database that `name` is the journal of, or NULL. The caller frees. */
static char *without_end(const char *name, const char *end)
{
        size_t length = strlen(name), cut = strlen(end);
        bool matches = length > cut && str_equal(name + length - cut, end);
        return matches ? str_copy_n(name, length - cut) : NULL;
}

static bool is_live(int directory, const char *name)
{
        struct stat status;
        autofree char *with_wal = without_end(name, "-wal");
        autofree char *shared = with_wal ? str_format("%s-shm", with_wal) : NULL;
        if (with_wal)
                return is_locked(directory, shared, F_WRLCK) || is_locked(directory, with_wal, F_RDLCK);
        autofree char *with_journal = without_end(name, "-journal");
        return with_journal && fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
               status.st_size > 0 && is_locked(directory, with_journal, F_RDLCK);
}

struct search {
        const struct mount *overlay;
        struct error *error;
};

static bool look_at(struct tree *tree, int directory, const char *relative, const char *name)
{
        struct search *search = tree->context;
        if (search->error->status || !is_live(directory, name))
                return !search->error->status;
        return error_set(
            search->error, EXIT_SETUP,
            "cannot make an overlay of %s: another program is using the journal %s%s%s in it, and "
            "what is read from a database that changes below may be torn; end that program, or "
            "grant a copy of the directory",
            search->overlay->source, relative, relative[0] ? "/" : "", name);
}

bool journals_check(const struct box *box, struct error *error)
{
        for (size_t i = 0; i < box->mount_count && !error->status; i++) {
                if (box->mounts[i].kind != MOUNT_OVERLAY || !mount_is_grant(&box->mounts[i]))
                        continue;
                autoclose int root = real_path_open(box->mounts[i].source, O_PATH | O_DIRECTORY);
                struct search search = {&box->mounts[i], error};
                struct tree tree = {
                    .root = root,
                    .max_depth = MOST_DEPTH,
                    .max_directories = MOST_DIRECTORIES,
                    .max_entries = MOST_ENTRIES,
                    .context = &search,
                    .entry = look_at,
                };
                tree_walk(&tree);
        }
        return !error->status;
}
