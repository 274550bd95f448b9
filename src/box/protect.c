/* SPDX-License-Identifier: Apache-2.0
 *
 * See protect.h.
 */
#include "box/protect.h"

#include "lib/fd.h"
#include "lib/name.h"
#include "report/messages.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Directly in a writable grant. git runs hooks, and what its configuration names; commondir moves both
 * elsewhere. A client starts what its configuration in a project names, and shells run the rest. */
static const char *const default_names[] = {
    ".git/hooks",   ".git/config", ".git/commondir", ".mcp.json", ".cursor",       ".vscode",
    ".claude",      ".envrc",      ".bashrc",        ".profile",  ".bash_profile", ".bash_login",
    ".bash_logout", ".zshrc",      ".zshenv",        ".zprofile", ".zlogin",       ".zlogout",
};

enum { DEFAULT_NAMES = sizeof(default_names) / sizeof(*default_names) };

/* What stands at a name. */
struct found {
        size_t length; /* of the part of the name that was found: a link or file on the way ends it; 0:
                          nothing */
        struct stat status;
};

/* A name that is not held by a mount: nothing is there, or a link, which nothing can be mounted on. */
struct watched_name {
        char *name;
        struct found before;
};

struct watched_folder {
        int folder; /* O_PATH */
        char *path;
        struct watched_name *names;
        size_t count;
};

/* Looks one component after the other, so that no link is followed. */
static struct found look(int folder, const char *name)
{
        struct found found = {0};
        for (size_t end = 0; name[end];) {
                end += strspn(name + end, "/");
                end += strcspn(name + end, "/");
                autofree char *part = str_copy_n(name, end);
                if (fstatat(folder, part, &found.status, AT_SYMLINK_NOFOLLOW) < 0)
                        return (struct found){0};
                found.length = end;
                if (!S_ISDIR(found.status.st_mode))
                        return found;
        }
        return found;
}

static void watch(struct watched_folder *watched, const char *name, const struct found *before)
{
        watched->names =
            str_or_die(reallocarray(watched->names, watched->count + 1, sizeof(*watched->names)));
        watched->names[watched->count++] = (struct watched_name){
            .name = str_copy_n(name, before->length ? before->length : strlen(name)), .before = *before};
}

/* The grant's folder, opened once for the run. NULL when it is no longer what was judged. */
static struct watched_folder *open_folder(struct held_sources *held, const struct mount *grant,
                                          struct error *error)
{
        struct open_how how = {
            .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
            .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
        };
        struct stat status;
        autoclose int folder = (int)syscall(SYS_openat2, AT_FDCWD, grant->source, &how, sizeof(how));
        if (folder < 0 || fstat(folder, &status) < 0 || status.st_dev != grant->device ||
            status.st_ino != grant->inode) {
                error_set(error, EXIT_SETUP, "cannot use %s: it was replaced while hutch started",
                          grant->source);
                return NULL;
        }
        held->watched =
            str_or_die(reallocarray(held->watched, held->watched_count + 1, sizeof(*held->watched)));
        struct watched_folder *watched = &held->watched[held->watched_count++];
        *watched = (struct watched_folder){.folder = fd_take(&folder), .path = str_copy(grant->source)};
        return watched;
}

/* Protects `name` below one grant. */
static bool protect_name(struct box *box, struct held_sources *held, const struct mount *grant,
                         struct watched_folder *watched, const char *name, const char *why,
                         struct error *error)
{
        struct found found = look(watched->folder, name);
        if (!found.length || S_ISLNK(found.status.st_mode)) {
                watch(watched, name, &found);
                return true;
        }
        autofree char *part = str_copy_n(name, found.length);
        autofree char *real = path_join(watched->path, part);
        autofree char *place = mounts_place(grant, real);
        /* A mount at or above the place that is not this grant decides there: the person's own word, a mask,
         * or the same name a second time. */
        const struct mount *deciding = box_find_mount(box, place);
        if (!deciding->writable || !deciding->source || !str_equal(deciding->source, grant->source) ||
            !str_equal(deciding->destination, grant->destination))
                return true;
        if (!S_ISDIR(found.status.st_mode) && found.status.st_nlink > 1)
                message("note: %s has other names, by hard links; through one in a writable grant the "
                        "command can "
                        "change it",
                        name_shown(real));
        return mounts_add_bind(box, held, real, place, false, why, error);
}

static bool is_writable_folder(const struct mount *mount)
{
        return mount->kind == MOUNT_BIND && mount->writable && mount->is_folder;
}

/* What --protect names lies in a folder by its real path, under its own name: it may be a link. */
static char *real_place(const char *path)
{
        autofree char *parent = path_parent(path);
        char *real = realpath(parent, NULL);
        char *place = real ? path_join(real, strrchr(path, '/') + 1) : NULL;
        free(real);
        return place;
}

/* Protects, below one grant, all of `paths` that lie in it; counts them in `found`. */
static bool protect_paths(struct box *box, struct held_sources *held, const struct mount *grant,
                          struct watched_folder *watched, const struct str_list *paths, bool *found,
                          struct error *error)
{
        for (size_t i = 0; i < paths->count; i++) {
                const char *path = paths->values[i];
                if (!path_is_below(path, grant->source) || str_equal(path, grant->source))
                        continue;
                found[i] = true;
                if (!protect_name(box, held, grant, watched, path + strlen(grant->source) + 1, "--protect",
                                  error))
                        return false;
        }
        return true;
}

/* The real places of what --protect names; of a link, that of its target too. */
static bool resolve_paths(const struct options *options, const char *cwd, struct str_list *paths,
                          struct error *error)
{
        for (size_t i = 0; i < options->protect.count; i++) {
                struct stat status;
                autofree char *path = path_join(cwd, options->protect.values[i]);
                char *place = path[1] ? real_place(path) : NULL;
                if (!place || lstat(place, &status) < 0) {
                        free(place);
                        return error_set(error, EXIT_USAGE,
                                         "--protect %s: %s: only what exists at the start can be protected",
                                         name_shown(options->protect.values[i]),
                                         path[1] ? strerror(errno) : "it is the root");
                }
                str_list_take(paths, place);
                char *target = S_ISLNK(status.st_mode) ? realpath(place, NULL) : NULL;
                if (target)
                        str_list_take(paths, target);
        }
        return true;
}

/* The default name in `grant`: a granted .git has its hooks as `hooks`. */
static const char *default_name(const struct mount *grant, size_t index)
{
        const char *name = default_names[index];
        bool is_repository = str_equal(strrchr(grant->source, '/'), "/.git");
        return is_repository && str_starts(name, ".git/") ? name + strlen(".git/") : name;
}

bool protect_names(const struct box *box, const char *path)
{
        const struct mount *grant = NULL; /* the deepest, and no pin, for which no name is protected */
        for (size_t i = 0; i < box->mount_count; i++) {
                const struct mount *mount = &box->mounts[i];
                if (is_writable_folder(mount) && mounts_is_asked_for(mount) &&
                    path_is_below(path, mount->destination) &&
                    (!grant || path_depth(mount->destination) >= path_depth(grant->destination)))
                        grant = mount;
        }
        for (size_t i = 0; grant && i < DEFAULT_NAMES; i++) {
                autofree char *place = path_join(grant->destination, default_name(grant, i));
                if (path_is_below(path, place) || path_is_below(place, path))
                        return true;
        }
        return false;
}

static bool protect_grant(struct box *box, struct held_sources *held, const struct mount *grant,
                          bool defaults, const struct str_list *paths, bool *found, struct error *error)
{
        struct watched_folder *watched = open_folder(held, grant, error);
        if (!watched)
                return false;
        for (size_t i = 0; defaults && i < DEFAULT_NAMES; i++)
                if (!protect_name(box, held, grant, watched, default_name(grant, i), "protected", error))
                        return false;
        return protect_paths(box, held, grant, watched, paths, found, error);
}

/* Binds on itself what lies between `place` and the writable grant it is in. */
static bool pin_above(struct box *box, struct held_sources *held, const char *place, struct error *error)
{
        autofree char *parent = path_parent(place);
        const struct mount *grant = box_find_mount(box, parent);
        if (!grant || !is_writable_folder(grant))
                return true;
        autofree char *source = str_copy(grant->source);
        autofree char *destination = str_copy(grant->destination);
        for (const char *end = place + strlen(destination) + 1; (end = strchr(end, '/')); end++) {
                autofree char *folder = str_copy_n(place, (size_t)(end - place));
                autofree char *real = str_format("%s%s", source, folder + strlen(destination));
                autofree char *why = str_format("holds %s", place);
                /* The mount below cannot be made then, which is said when it is tried. */
                if (faccessat(AT_FDCWD, real, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
                        return true;
                if (!mounts_add_bind(box, held, real, folder, true, why, error))
                        return false;
        }
        return true;
}

/* Every mount there is now, the protected ones too. A pin needs none: those above it are made first. */
static bool pin_all(struct box *box, struct held_sources *held, struct error *error)
{
        size_t count = box->mount_count;
        for (size_t i = 0; i < count; i++) {
                autofree char *place = str_copy(box->mounts[i].destination);
                if (box->mounts[i].kind != MOUNT_LINK && place[1] && !pin_above(box, held, place, error))
                        return false;
        }
        return true;
}

bool protect_add(struct box *box, struct held_sources *held, const struct options *options, const char *cwd,
                 struct error *error)
{
        struct str_list paths = {0};
        bool done = resolve_paths(options, cwd, &paths, error);
        autofree bool *found = str_or_die(calloc(paths.count + 1, sizeof(*found)));
        size_t count = box->mount_count;
        bool any = false;
        for (size_t i = 0; done && i < count; i++) {
                struct mount grant = box->mounts[i];
                if (!is_writable_folder(&grant))
                        continue;
                any = true;
                done = protect_grant(box, held, &grant, !options->no_protect, &paths, found, error);
        }
        /* A second grant of the same place, at another one inside, must not undo what was asked for. */
        for (size_t i = 0; done && i < box->mount_count; i++)
                for (size_t j = 0; j < paths.count; j++)
                        if (box->mounts[i].kind == MOUNT_BIND &&
                            path_is_below(box->mounts[i].source, paths.values[j]))
                                box->mounts[i].writable = false;
        for (size_t i = 0; done && i < paths.count; i++)
                if (!found[i])
                        done =
                            error_set(error, EXIT_USAGE,
                                      "--protect %s: it lies in no writable folder that is granted; what is "
                                      "granted with --ro cannot be changed anyway",
                                      name_shown(paths.values[i]));
        str_list_free(&paths);
        return done && (!any || pin_all(box, held, error));
}

static void report_name(const struct watched_folder *watched, const struct watched_name *name)
{
        struct found now = look(watched->folder, name->name);
        const struct stat *before = &name->before.status, *after = &now.status;
        if (!now.length)
                return;
        /* A new link may get the number of the old one, but not its time. */
        if (name->before.length && before->st_ino == after->st_ino &&
            before->st_ctim.tv_sec == after->st_ctim.tv_sec &&
            before->st_ctim.tv_nsec == after->st_ctim.tv_nsec)
                return;
        autofree char *part = str_copy_n(name->name, now.length);
        autofree char *path = path_join(watched->path, part);
        message(
            "%s was %s during the run, and other programs run or obey such a file outside of any sandbox: "
            "look at it first",
            name_shown(path), name->before.length ? "changed" : "created");
}

/* Several names end at the same file when one on the way is no folder: it is said once. */
static bool is_said_before(const struct watched_folder *watched, size_t index)
{
        struct found now = look(watched->folder, watched->names[index].name);
        for (size_t i = 0; i < index && now.length; i++) {
                struct found other = look(watched->folder, watched->names[i].name);
                if (other.length == now.length &&
                    memcmp(watched->names[i].name, watched->names[index].name, now.length) == 0)
                        return true;
        }
        return false;
}

void protect_report(const struct held_sources *held)
{
        for (size_t i = 0; i < held->watched_count; i++)
                for (size_t j = 0; j < held->watched[i].count; j++)
                        if (!is_said_before(&held->watched[i], j))
                                report_name(&held->watched[i], &held->watched[i].names[j]);
}

void protect_release(struct held_sources *held)
{
        for (size_t i = 0; i < held->watched_count; i++) {
                struct watched_folder *watched = &held->watched[i];
                for (size_t j = 0; j < watched->count; j++)
                        free(watched->names[j].name);
                free(watched->names);
                free(watched->path);
                close(watched->folder);
        }
        free(held->watched);
        held->watched = NULL;
        held->watched_count = 0;
}
