/* SPDX-License-Identifier: Apache-2.0
 *
 * See mountinfo.h. The list is /proc/self/mountinfo (proc_pid_mountinfo(5)).
 */
#include "grants/mountinfo.h"

#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_LIST_BYTES = 64 << 20 };

static void add_part(struct mountinfo_part **list, size_t *count, const struct mountinfo_part *part)
{
        *array_add(*list, *count) = *part;
}

static bool is_octal(char character)
{
        return character >= '0' && character <= '7';
}

/* The kernel writes blanks and the like as a backslash and three octal digits. Changes the text. */
static char *decode(char *text)
{
        char *to = text;
        for (const char *from = text; *from; to++) {
                if (from[0] == '\\' && is_octal(from[1]) && is_octal(from[2]) && is_octal(from[3])) {
                        *to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
                        from += 4;
                } else {
                        *to = *from++;
                }
        }
        *to = 0;
        return text;
}

/* File systems that another computer or a program serves (filesystems(5), fuse(4)); FUSE also as fuse.NAME.
 */
static bool is_remote_kind(const char *kind)
{
        static const char *const kinds[] = {"nfs", "nfs4", "cifs",   "smb3",  "9p",     "ceph",
                                            "afs", "coda", "lustre", "ncpfs", "autofs", "fuseblk"};
        for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
                if (str_equal(kind, kinds[i]))
                        return true;
        return str_equal(kind, "fuse") || strncmp(kind, "fuse.", strlen("fuse.")) == 0;
}

/* "id parent major:minor root point options optional… - kind source options" */
static void add_line(struct mountinfo *info, char *line)
{
        (void)strsep(&line, " ");
        (void)strsep(&line, " ");
        char *minor = strsep(&line, " ");
        const char *major = strsep(&minor, ":");
        char *root = strsep(&line, " "), *point = strsep(&line, " ");
        if (!point || !minor)
                return;
        char *kind = line ? strstr(line, " - ") : NULL; /* names have their blanks encoded */
        kind = kind ? kind + strlen(" - ") : (char[]){""};
        kind[strcspn(kind, " ")] = 0;
        struct mountinfo_part mount = {
            .device = (uint32_t)(strtoul(major, NULL, 10) << 20 | strtoul(minor, NULL, 10)),
            .base = str_copy(decode(root)),
            .path = str_copy(decode(point)),
            .silent = is_remote_kind(kind),
        };
        add_part(&info->mounts, &info->mount_count, &mount);
}

/* The rest of `path` after the directory `above` that contains it: "" or "/…". */
static const char *rest_below(const char *path, const char *above)
{
        return path + (above[1] ? strlen(above) : path[1] ? 0 : 1);
}

static char *join(const char *directory, const char *rest)
{
        return *rest ? str_format("%s%s", directory[1] ? directory : "", rest) : str_copy(directory);
}

/* The mount that a real path leads to: the deepest, and the last of equals. */
static struct mountinfo_part *find_mount(const struct mountinfo *info, const char *real)
{
        struct mountinfo_part *found = NULL;
        for (size_t i = 0; i < info->mount_count; i++)
                if (path_is_below(real, info->mounts[i].path) &&
                    (!found || strlen(info->mounts[i].path) >= strlen(found->path)))
                        found = &info->mounts[i];
        return found;
}

/* A grant shows a part of the mount that contains it, and every mount below. */
void mountinfo_add_grant(struct mountinfo *info, const char *source)
{
        struct mountinfo_part *holder = find_mount(info, source);
        if (holder) {
                holder->silent = false;
                struct mountinfo_part part = {
                    .device = holder->device,
                    .base = join(holder->base, rest_below(source, holder->path)),
                    .path = str_copy(source),
                };
                add_part(&info->grants, &info->grant_count, &part);
        }
        for (size_t i = 0; i < info->mount_count; i++) {
                const struct mountinfo_part *mount = &info->mounts[i];
                if (mount == holder || !path_is_below(mount->path, source))
                        continue;
                struct mountinfo_part part = {
                    .device = mount->device, .base = str_copy(mount->base), .path = str_copy(mount->path)};
                add_part(&info->grants, &info->grant_count, &part);
        }
}

void mountinfo_parse(struct mountinfo *info, char *text)
{
        for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
                add_line(info, line);
}

static bool read_mounts(struct mountinfo *info, struct error *error)
{
        autofree char *text = NULL;
        autoclose int list = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
        ssize_t length = list < 0 ? -errno : fd_read_all(list, MAX_LIST_BYTES, &text);
        if (length < 0)
                return error_set(error, EXIT_SETUP,
                                 "cannot read the list of mounts, /proc/self/mountinfo: %s",
                                 strerror((int)-length));
        mountinfo_parse(info, text);
        return true;
}

bool mountinfo_read(struct mountinfo *info, const struct box *box, struct error *error)
{
        if (!read_mounts(info, error))
                return false;
        for (size_t i = 0; i < box->mount_count; i++)
                if (mount_is_grant(&box->mounts[i]) && box->mounts[i].is_directory)
                        mountinfo_add_grant(info, box->mounts[i].source);
        return true;
}

bool mountinfo_have_device(const struct mountinfo *info, uint32_t device)
{
        for (size_t i = 0; i < info->grant_count; i++)
                if (info->grants[i].device == device)
                        return true;
        return false;
}

bool mountinfo_is_silent(const struct mountinfo *info, const char *path)
{
        const struct mountinfo_part *mount = find_mount(info, path);
        return mount && mount->silent;
}

void mountinfo_find(const struct mountinfo *info, const char *real, struct str_list *paths)
{
        const struct mountinfo_part *mount = find_mount(info, real);
        if (!mount)
                return;
        autofree char *place = join(mount->base, rest_below(real, mount->path));
        for (size_t i = 0; i < info->grant_count; i++) {
                const struct mountinfo_part *grant = &info->grants[i];
                if (grant->device == mount->device && path_is_below(place, grant->base))
                        str_list_take(paths, join(grant->path, rest_below(place, grant->base)));
        }
}

static void add_other(const char *path, const char *real, struct str_list *paths)
{
        if (!str_equal(path, real) && !str_list_has(paths, path))
                str_list_add(paths, path);
}

/* False where another mount covers the object at this path. */
static bool is_object(const char *path, const struct stat *wanted)
{
        struct stat status;
        return lstat(path, &status) == 0 && status.st_dev == wanted->st_dev &&
               status.st_ino == wanted->st_ino;
}

/* Paths where a grant contains the object. */
static void find_wholes(const struct mountinfo *info, const char *real, const struct stat *wanted,
                        struct str_list *paths)
{
        struct str_list found = {0};
        mountinfo_find(info, real, &found);
        for (size_t i = 0; i < found.count; i++)
                if (is_object(found.values[i], wanted))
                        add_other(found.values[i], real, paths);
        str_list_free(&found);
}

/* Paths outside of the object where the host mounts a part of it. */
static void find_parts(const struct mountinfo *info, const char *real, struct str_list *paths)
{
        const struct mountinfo_part *mount = find_mount(info, real);
        autofree char *place = mount ? join(mount->base, rest_below(real, mount->path)) : NULL;
        for (size_t i = 0; place && i < info->mount_count; i++) {
                const struct mountinfo_part *part = &info->mounts[i];
                if (part->device == mount->device && path_is_below(part->base, place) &&
                    !path_is_below(part->path, real))
                        add_other(part->path, real, paths);
        }
}

void mountinfo_find_in(struct mountinfo *info, const struct box *box, const char *real,
                       const struct stat *wanted, struct str_list *paths)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (box->mounts[i].kind == MOUNT_BIND || box->mounts[i].kind == MOUNT_OVERLAY)
                        mountinfo_add_grant(info, box->mounts[i].source);
        find_wholes(info, real, wanted, paths);
        find_parts(info, real, paths);
}

bool mountinfo_find_others(const struct box *box, const char *real, struct str_list *paths,
                           struct error *error)
{
        struct mountinfo info = {0};
        struct stat wanted;
        bool done = read_mounts(&info, error);
        if (done && lstat(real, &wanted) < 0)
                done = error_set(error, EXIT_SETUP, "cannot look at %s: %s", real, strerror(errno));
        if (done)
                mountinfo_find_in(&info, box, real, &wanted, paths);
        mountinfo_free(&info);
        return done;
}

void mountinfo_list_in(const struct mountinfo *info, const char *real, struct str_list *paths)
{
        struct stat wanted;
        const struct mountinfo_part *mount = find_mount(info, real);
        autofree char *place = mount ? join(mount->base, rest_below(real, mount->path)) : NULL;
        if (!place || lstat(real, &wanted) < 0)
                return;
        for (size_t i = 0; i < info->mount_count; i++) {
                const struct mountinfo_part *other = &info->mounts[i];
                if (other->device != mount->device || !path_is_below(place, other->base))
                        continue;
                autofree char *path = join(other->path, rest_below(place, other->base));
                if (is_object(path, &wanted))
                        add_other(path, real, paths);
        }
}

bool mountinfo_list_names(const char *real, struct str_list *paths, struct error *error)
{
        static struct mountinfo known; /* read once for all grants of a start */
        if (!known.mount_count && !read_mounts(&known, error))
                return false;
        mountinfo_list_in(&known, real, paths);
        return true;
}

static void free_list(struct mountinfo_part *list, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                free(list[i].base);
                free(list[i].path);
        }
        free(list);
}

void mountinfo_free(struct mountinfo *info)
{
        free_list(info->mounts, info->mount_count);
        free_list(info->grants, info->grant_count);
        *info = (struct mountinfo){0};
}
