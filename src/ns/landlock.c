/* SPDX-License-Identifier: Apache-2.0
 *
 * See landlock.h.
 *
 * Landlock is independent of the mounts. Whatever mistake the mount tree contains, the server can create,
 * change and remove files only below writable grants. From version 6 of the interface it can neither connect
 * to abstract sockets nor send signals outside of its sandbox. From version 9 it cannot connect to a socket
 * in a grant that was made outside.
 *
 * There is one ruleset. Each of two stacked ones would have to permit both ends of a rename, which breaks
 * renames that either permits alone. Reading is not restricted: the mount tree holds nothing that must not be
 * read.
 *
 * The newer constants are defined here because the headers of distributions are older than the kernels in
 * use (linux/landlock.h of 7.1 and Documentation/userspace-api/landlock.rst).
 */
#include "ns/landlock.h"

#include "lib/fd.h"
#include "ns/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define ACCESS_TRUNCATE (1ULL << 14) /* version 3 */

/* Version 9. connect(2) and sendmsg(2) need this right when they look a socket up by its path. A socket that
 * was made in the same domain, by the server or its children, needs no rule. */
#define ACCESS_RESOLVE_UNIX (1ULL << 16)

#define SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0) /* version 6 */
#define SCOPE_SIGNAL               (1ULL << 1) /* version 6 */

#define READING (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

enum { ABI_REFER = 2, ABI_TRUNCATE = 3, ABI_SCOPE = 6, ABI_RESOLVE_UNIX = 9 };

/* struct landlock_ruleset_attr as version 6 has it. */
struct ruleset_attribute {
        uint64_t handled_access_fs;
        uint64_t handled_access_net;
        uint64_t scoped;
};

int landlock_abi(void)
{
        long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
        return version > 0 ? (int)version : 0;
}

bool landlock_guards_files(const struct box *box, int abi, const char **why)
{
        *why = NULL;
        if (abi == 0)
                *why = "this kernel has no Landlock, or it is not enabled (lsm=landlock,… at boot)";
        else if (abi < ABI_REFER) /* it refuses every rename between directories, which breaks programs */
                *why = "this kernel's Landlock is too old to permit renames; Linux 5.19 or newer has what is "
                       "needed";
        else if (box->userns == USERNS_FULL)
                *why = "--allow-userns=full leaves it out, because nested sandboxes cannot mount under it";
        return !*why;
}

uint64_t landlock_file_rights(int abi)
{
        /* Every right up to that of version 2, but for those to read and to execute. */
        uint64_t rights = (2 * LANDLOCK_ACCESS_FS_REFER - 1) & ~READING;
        if (abi >= ABI_TRUNCATE)
                rights |= ACCESS_TRUNCATE;
        if (abi >= ABI_RESOLVE_UNIX)
                rights |= ACCESS_RESOLVE_UNIX;
        return rights;
}

bool landlock_guards_sockets(const struct box *box, int abi)
{
        const char *why;
        return abi >= ABI_RESOLVE_UNIX && landlock_guards_files(box, abi, &why);
}

static void allow_below(const struct entering *entering, int ruleset, const char *path, uint64_t access)
{
        autoclose int parent = open(path, O_PATH | O_CLOEXEC);
        struct stat status;
        if (parent < 0 || fstat(parent, &status) < 0)
                entering_fail(entering, STAGE_LANDLOCK, errno, path);
        /* The kernel refuses rights of directories on anything else (EINVAL). */
        if (!S_ISDIR(status.st_mode))
                access &= LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE | ACCESS_RESOLVE_UNIX;
        struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = parent};
        entering_check(entering, STAGE_LANDLOCK, path,
                       syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0));
}

uint64_t landlock_mount_rights(const struct mount *mount, uint64_t handled, enum userns_mode userns)
{
        uint64_t resolve = handled & ACCESS_RESOLVE_UNIX;
        switch (mount->kind) {
        case MOUNT_MEMORY:
                return handled;
        case MOUNT_OVERLAY:
                return handled & ~resolve; /* the overlay shows the host's sockets */
        case MOUNT_BIND: {
                /* A grant of the socket file itself permits the connection. */
                uint64_t rights = mount->writable ? handled & ~resolve : 0;
                return rights | (mount->is_directory ? 0 : resolve);
        }
        case MOUNT_DEV:
                return LANDLOCK_ACCESS_FS_WRITE_FILE; /* to /dev/null and terminals; no new nodes */
        case MOUNT_PROC:
                return userns != USERNS_NONE ? LANDLOCK_ACCESS_FS_WRITE_FILE
                                             : 0; /* id maps of nested sandboxes */
        default:
                return 0;
        }
}

/* Every version of Landlock has these rights. Removing is left alone: the supervisor removes its cgroup. */
int landlock_permit_reading(const char *const *directories, size_t count)
{
        const struct ruleset_attribute attribute = {.handled_access_fs =
                                                        READING | LANDLOCK_ACCESS_FS_WRITE_FILE};
        autoclose int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attribute, sizeof(attribute), 0);
        if (ruleset < 0)
                return -errno;
        for (size_t i = 0; i < count; i++) {
                autoclose int parent = open(directories[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
                struct landlock_path_beneath_attr rule = {.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE,
                                                          .parent_fd = parent};
                if (parent >= 0 &&
                    syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
                        return -errno;
        }
        return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
}

void landlock_enter(const struct entering *entering)
{
        const struct box *box = entering->box;
        int abi = entering->landlock_abi;
        const char *why;
        bool files = layer_enabled(LAYER_LANDLOCK_FILES) && landlock_guards_files(box, abi, &why);
        struct ruleset_attribute attribute = {0};

        if (files)
                attribute.handled_access_fs = landlock_file_rights(abi);
        if (abi >= ABI_SCOPE && layer_enabled(LAYER_LANDLOCK_SCOPES))
                attribute.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL;
        if (!attribute.handled_access_fs && !attribute.scoped)
                return;

        /* An older kernel knows a shorter structure and refuses a longer one only when the tail is not zero.
         * The version checks above keep it zero. */
        autoclose int ruleset =
            entering_check(entering, STAGE_LANDLOCK, NULL,
                           (int)syscall(SYS_landlock_create_ruleset, &attribute, sizeof(attribute), 0));

        for (size_t i = 0; files && i < box->mount_count; i++) {
                uint64_t rights =
                    landlock_mount_rights(&box->mounts[i], attribute.handled_access_fs, box->userns);
                if (rights)
                        allow_below(entering, ruleset, box->mounts[i].destination, rights);
        }
        entering_check(entering, STAGE_LANDLOCK, NULL, syscall(SYS_landlock_restrict_self, ruleset, 0));
}
