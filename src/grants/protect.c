/* SPDX-License-Identifier: Apache-2.0
 *
 * See protect.h.
 */
#include "grants/protect.h"

#include "grants/git.h"
#include "grants/mountinfo.h"
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/real_path.h"
#include "lib/suggest.h"
#include "lib/tree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Directly in a writable grant, where they may not exist yet; git.h finds the rest of what git obeys. A
 * client starts what its configuration in a project names, and shells run the rest. */
static const char *const default_names[] = {
    ".git/hooks",     ".git/config",   ".git/config.worktree",
    ".git/commondir", ".mcp.json",     ".cursor",
    ".vscode",        ".claude",       ".envrc",
    ".bashrc",        ".profile",      ".bash_profile",
    ".bash_login",    ".bash_logout",  ".zshrc",
    ".zshenv",        ".zprofile",     ".zlogin",
    ".zlogout",       ".gemini",       ".codex",
    ".kiro",          ".roo",          ".amazonq",
    ".continue",      ".opencode",     "opencode.json",
    ".zed",           ".devcontainer", ".idea",
};

enum {
        DEFAULT_NAMES = sizeof(default_names) / sizeof(*default_names),
        MOST_LINKS = 8, /* that lead from one to the next */
        /* Of a protected directory, looked through for links. */
        MOST_DEPTH = 3,
        MOST_DIRECTORIES = 64,
        MOST_ENTRIES = 2000,
        MOST_LEFT = 256, /* links in all of them */
};

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
        bool said;
};

struct watched_directory {
        int directory; /* O_PATH */
        char *path;
        struct watched_name *names;
        size_t count;
};

/* Looks one component after the other, so that no link is followed. */
static struct found look(int directory, const char *name)
{
        struct found found = {0};
        for (size_t end = 0; name[end];) {
                end += strspn(name + end, "/");
                end += strcspn(name + end, "/");
                autofree char *part = str_copy_n(name, end);
                if (fstatat(directory, part, &found.status, AT_SYMLINK_NOFOLLOW) < 0)
                        return (struct found){0};
                found.length = end;
                if (!S_ISDIR(found.status.st_mode))
                        return found;
        }
        return found;
}

static void watch(struct watched_directory *watched, const char *name, const struct found *before)
{
        for (size_t i = 0; i < watched->count; i++)
                if (str_equal(watched->names[i].name, name))
                        return;
        watched->names =
            str_or_die(reallocarray(watched->names, watched->count + 1, sizeof(*watched->names)));
        watched->names[watched->count++] = (struct watched_name){
            .name = str_copy_n(name, before->length ? before->length : strlen(name)), .before = *before};
}

/* A writable grant, and the number of its directory in held->watched. */
struct grant {
        struct mount mount; /* a copy: the box's own list grows */
        size_t watched;
};

struct protecting {
        struct box *box;
        struct held_sources *held;
        struct grant *grants;
        size_t grant_count;
        struct str_list links; /* in protected directories, which do not protect what those lead to */
        struct error *error;
};

/* Opens the grant's directory once for the run. */
static bool open_directory(struct held_sources *held, const struct mount *grant, struct error *error)
{
        struct stat status;
        autoclose int directory = real_path_open(grant->source, O_PATH | O_DIRECTORY);
        if (directory < 0 || fstat(directory, &status) < 0 || status.st_dev != grant->device ||
            status.st_ino != grant->inode)
                return error_set(error, EXIT_SETUP, "cannot use %s: it was replaced while hutch started",
                                 grant->source);
        held->watched =
            str_or_die(reallocarray(held->watched, held->watched_count + 1, sizeof(*held->watched)));
        held->watched[held->watched_count++] =
            (struct watched_directory){.directory = fd_take(&directory), .path = str_copy(grant->source)};
        return true;
}

static bool is_writable_directory(const struct mount *mount)
{
        /* The home of --persist is no place where anything of the person's is started from. */
        return mount->kind == MOUNT_BIND && mount->writable && mount->is_directory &&
               !str_equal(mount->why, MOUNT_WHY_PERSIST);
}

static bool find_grants(struct protecting *protecting)
{
        struct box *box = protecting->box;
        protecting->grants = str_or_die(calloc(box->mount_count + 1, sizeof(*protecting->grants)));
        for (size_t i = 0; i < box->mount_count; i++) {
                if (!is_writable_directory(&box->mounts[i]))
                        continue;
                protecting->grants[protecting->grant_count++] =
                    (struct grant){box->mounts[i], protecting->held->watched_count};
                if (!open_directory(protecting->held, &box->mounts[i], protecting->error))
                        return false;
        }
        return true;
}

/* Where the link at `path` leads, whether something is there or not. The caller frees; NULL when it is no
 * link. */
static char *read_target(const char *path)
{
        char text[PATH_MAX];
        ssize_t length = readlink(path, text, sizeof(text) - 1);
        if (length <= 0)
                return NULL;
        text[length] = 0;
        autofree char *parent = path_parent(path);
        autofree char *target = text[0] == '/' ? str_copy(text) : str_format("%s/%s", parent, text);
        return real_path_of_missing(target);
}

/* A link on the way that starts with the link at `path` can be made to lead elsewhere, and then what is
 * protected is not what is used. None can be held by a mount, so all are watched. */
static void watch_way(struct protecting *protecting, const char *path)
{
        struct str_list links = {0};
        real_path_list_links(path, &links);
        for (size_t i = 0; i < links.count; i++)
                for (size_t j = 0; j < protecting->grant_count; j++) {
                        const struct grant *grant = &protecting->grants[j];
                        const char *source = grant->mount.source;
                        if (!path_is_below(links.values[i], source))
                                continue;
                        struct watched_directory *watched = &protecting->held->watched[grant->watched];
                        const char *name = links.values[i] + strlen(source) + 1;
                        struct found found = look(watched->directory, name);
                        watch(watched, name, &found);
                }
        str_list_free(&links);
}

struct looking {
        struct protecting *protecting;
        const char *directory;
};

static bool remember_link(struct tree *tree, int directory, const char *relative, const char *name)
{
        const struct looking *looking = tree->context;
        struct str_list *links = &looking->protecting->links;
        struct stat status;
        if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode) &&
            links->count < MOST_LEFT)
                str_list_take(links, str_format("%s/%s%s%s", looking->directory, relative,
                                                relative[0] ? "/" : "", name));
        return true;
}

/* Hooks are often links to scripts of the project. */
static void look_for_links(struct protecting *protecting, const char *directory)
{
        autoclose int root = real_path_open(directory, O_PATH | O_DIRECTORY);
        struct looking looking = {protecting, directory};
        struct tree tree = {
            .root = root,
            .max_depth = MOST_DEPTH,
            .max_directories = MOST_DIRECTORIES,
            .max_entries = MOST_ENTRIES,
            .context = &looking,
            .entry = remember_link,
        };
        if (root >= 0)
                tree_walk(&tree);
}

/* Protects `name` below one grant. *next becomes the place to go on with when a link is on the way. */
static bool protect_name(struct protecting *protecting, const struct grant *grant, const char *name,
                         const char *why, char **next)
{
        struct box *box = protecting->box;
        struct watched_directory *watched = &protecting->held->watched[grant->watched];
        struct found found = look(watched->directory, name);
        bool is_link = found.length && S_ISLNK(found.status.st_mode);
        if (!found.length || is_link)
                watch(watched, name, &found);
        if (!found.length)
                return true;
        autofree char *part = str_copy_n(name, found.length);
        autofree char *real = path_join(watched->path, part);
        if (is_link) {
                autofree char *target = read_target(real);
                autofree char *whole = path_join(watched->path, name);
                watch_way(protecting, whole);
                if (target && !*next)
                        *next = str_format("%s%s", target, name + found.length);
                return true;
        }
        autofree char *place = mounts_place(&grant->mount, real);
        /* A mount at or above the place that is not this grant decides there: the person's own word, a mask,
         * or the same name a second time. */
        const struct mount *deciding = box_find_mount(box, place);
        if (!deciding->writable || !deciding->source || !str_equal(deciding->source, grant->mount.source) ||
            !str_equal(deciding->destination, grant->mount.destination))
                return true;
        if (!S_ISDIR(found.status.st_mode) && found.status.st_nlink > 1)
                message("note: %s has other names, by hard links; through one in a writable grant the "
                        "command can "
                        "change it",
                        error_shown(real));
        if (S_ISDIR(found.status.st_mode))
                look_for_links(protecting, real);
        return mounts_add_bind(box, protecting->held, real, place, false, why, protecting->error);
}

/* Protects what is, or may come to be, at `path`, the directory of which is real, in every writable grant
 * that holds it, and what a link there leads to. *held_by counts those grants; may be NULL. */
static bool protect_place(struct protecting *protecting, const char *path, const char *why, size_t *held_by)
{
        autofree char *place = str_copy(path);
        for (unsigned links = 0; place && links < MOST_LINKS; links++) {
                char *next = NULL;
                for (size_t i = 0; i < protecting->grant_count; i++) {
                        const char *source = protecting->grants[i].mount.source;
                        if (!path_is_below(place, source) || str_equal(place, source))
                                continue;
                        if (held_by)
                                (*held_by)++;
                        if (!protect_name(protecting, &protecting->grants[i], place + strlen(source) + 1, why,
                                          &next)) {
                                free(next);
                                return false;
                        }
                }
                free(place);
                place = next;
        }
        return true;
}

/* What --protect names lies in a directory by its real path, under its own name: it may be a link. */
static char *real_place(const char *path)
{
        autofree char *parent = path_parent(path);
        char *real = realpath(parent, NULL);
        char *place = real ? path_join(real, strrchr(path, '/') + 1) : NULL;
        free(real);
        return place;
}

/* A second grant of the same place, at another one inside, must not undo what was asked for. */
static void make_read_only(struct box *box, const char *path)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (box->mounts[i].kind == MOUNT_BIND && path_is_below(box->mounts[i].source, path))
                        box->mounts[i].writable = false;
}

/* Protects one existing object, or what may come to be there, wherever the host shows it. */
static bool protect_everywhere(struct protecting *protecting, const char *place, size_t *held_by)
{
        struct str_list places = {0};
        struct stat status;
        str_list_add(&places, place);
        bool done = lstat(place, &status) < 0 ||
                    mountinfo_find_others(protecting->box, place, &places, protecting->error);
        for (size_t i = 0; done && i < places.count; i++) {
                done = protect_place(protecting, places.values[i], "--protect", held_by);
                if (done)
                        make_read_only(protecting->box, places.values[i]);
        }
        str_list_free(&places);
        return done;
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
                if (is_writable_directory(mount) && mount_is_asked_for(mount) &&
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

/* One --protect. */
static bool protect_asked(struct protecting *protecting, const char *cwd, const char *text)
{
        struct stat status;
        size_t held_by = 0;
        autofree char *path = path_join(cwd, text);
        autofree char *place = path[1] ? real_place(path) : NULL;
        if (!place || lstat(place, &status) < 0)
                return error_set(protecting->error, EXIT_USAGE,
                                 "--protect %s: %s: only what exists at the start can be protected",
                                 error_shown(text), path[1] ? strerror(errno) : "it is the root");
        if (!protect_everywhere(protecting, place, &held_by))
                return false;
        if (S_ISLNK(status.st_mode)) {
                autofree char *target = real_path_of_missing(place);
                size_t target_held_by = 0;
                if (!protect_everywhere(protecting, target, &target_held_by))
                        return false;
                if (held_by && !target_held_by)
                        message("note: --protect %s: it is a link to %s, which lies in no writable directory "
                                "that is granted; the link itself can be replaced, which is said at the end",
                                error_shown(text), error_shown(target));
                held_by += target_held_by;
        }
        return held_by ||
               error_set(
                   protecting->error, EXIT_USAGE,
                   "--protect %s: it lies in no writable directory that is granted; what is granted with "
                   "--ro cannot be changed anyway",
                   error_shown(place));
}

/* The names that are protected without being asked for. */
static bool protect_defaults(struct protecting *protecting)
{
        for (size_t i = 0; i < protecting->grant_count; i++)
                for (size_t j = 0; j < DEFAULT_NAMES; j++) {
                        autofree char *next = NULL;
                        const struct grant *grant = &protecting->grants[i];
                        if (!protect_name(protecting, grant, default_name(&grant->mount, j), "protected",
                                          &next) ||
                            (next && !protect_place(protecting, next, "protected", NULL)))
                                return false;
                }
        struct str_list places = {0};
        git_find(protecting->box, &places);
        bool done = true;
        for (size_t i = 0; done && i < places.count; i++)
                done = protect_place(protecting, places.values[i], "protected", NULL);
        str_list_free(&places);
        /* Those to directories are left alone: one may lead to all of the project. */
        for (size_t i = 0; done && i < protecting->links.count; i++) {
                struct stat status;
                const char *link = protecting->links.values[i];
                if (stat(link, &status) < 0 || !S_ISDIR(status.st_mode))
                        done = protect_place(protecting, link, "protected", NULL);
        }
        return done;
}

/* Binds on itself what lies between `place` and the writable grant it is in. */
static bool pin_above(struct box *box, struct held_sources *held, const char *place, struct error *error)
{
        autofree char *parent = path_parent(place);
        const struct mount *grant = box_find_mount(box, parent);
        if (!grant || !is_writable_directory(grant))
                return true;
        autofree char *source = str_copy(grant->source);
        autofree char *destination = str_copy(grant->destination);
        for (const char *end = place + strlen(destination) + 1; (end = strchr(end, '/')); end++) {
                autofree char *directory = str_copy_n(place, (size_t)(end - place));
                autofree char *real = str_format("%s%s", source, directory + strlen(destination));
                autofree char *why = str_format("holds %s", place);
                /* The mount below cannot be made then, which is said when it is tried. */
                if (faccessat(AT_FDCWD, real, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
                        return true;
                if (!mounts_add_bind(box, held, real, directory, true, why, error))
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
        struct protecting protecting = {.box = box, .held = held, .error = error};
        bool done = find_grants(&protecting);
        for (size_t i = 0; done && i < options->protect.count; i++)
                done = protect_asked(&protecting, cwd, options->protect.values[i]);
        if (done && protecting.grant_count && !options->no_protect)
                done = protect_defaults(&protecting);
        bool any = protecting.grant_count > 0;
        free(protecting.grants);
        str_list_free(&protecting.links);
        return done && (!any || pin_all(box, held, error));
}

static void report_name(const struct watched_directory *watched, struct watched_name *name)
{
        struct found now = look(watched->directory, name->name);
        const struct stat *before = &name->before.status, *after = &now.status;
        if (!now.length)
                return;
        /* A new link may get the number of the old one, but not its time. */
        if (name->before.length && before->st_ino == after->st_ino &&
            before->st_ctim.tv_sec == after->st_ctim.tv_sec &&
            before->st_ctim.tv_nsec == after->st_ctim.tv_nsec)
                return;
        name->said = true;
        autofree char *part = str_copy_n(name->name, now.length);
        autofree char *path = path_join(watched->path, part);
        message(
            "%s was %s during the run, and other programs run or obey such a file outside of any sandbox: "
            "look at it first",
            error_shown(path), name->before.length ? "changed" : "created");
}

/* Several names end at the same file when one on the way is no directory: it is said once. */
static bool is_said_before(const struct watched_directory *watched, size_t index)
{
        struct found now = look(watched->directory, watched->names[index].name);
        for (size_t i = 0; i < index && now.length; i++) {
                struct found other = look(watched->directory, watched->names[i].name);
                if (other.length == now.length &&
                    memcmp(watched->names[i].name, watched->names[index].name, now.length) == 0)
                        return true;
        }
        return false;
}

void protect_list_directories(const struct held_sources *held, struct str_list *directories)
{
        for (size_t i = 0; i < held->watched_count; i++) {
                const struct watched_directory *watched = &held->watched[i];
                for (size_t j = 0; j < watched->count; j++) {
                        const char *name = watched->names[j].name, *slash = strrchr(name, '/');
                        autofree char *part = str_copy_n(name, slash ? (size_t)(slash - name) : 0);
                        autofree char *directory = path_join(watched->path, part);
                        if (!str_list_has(directories, directory))
                                str_list_add(directories, directory);
                }
                if (watched->count && !str_list_has(directories, watched->path))
                        str_list_add(directories, watched->path);
        }
}

/* A component of a path. */
static bool has_component(const char *path, const char *name)
{
        size_t length = strlen(name);
        for (const char *part = path; part; part = strchr(part, '/')) {
                part += *part == '/';
                if (strncmp(part, name, length) == 0 && (part[length] == '/' || part[length] == 0))
                        return true;
        }
        return false;
}

bool protect_may_concern(const struct held_sources *held, const char *name)
{
        for (size_t i = 0; i < held->watched_count; i++)
                for (size_t j = 0; j < held->watched[i].count; j++)
                        if (has_component(held->watched[i].names[j].name, name))
                                return true;
        return false;
}

void protect_report(struct held_sources *held)
{
        for (size_t i = 0; i < held->watched_count; i++)
                for (size_t j = 0; j < held->watched[i].count; j++)
                        if (!held->watched[i].names[j].said && !is_said_before(&held->watched[i], j))
                                report_name(&held->watched[i], &held->watched[i].names[j]);
}

void protect_release(struct held_sources *held)
{
        for (size_t i = 0; i < held->watched_count; i++) {
                struct watched_directory *watched = &held->watched[i];
                for (size_t j = 0; j < watched->count; j++)
                        free(watched->names[j].name);
                free(watched->names);
                free(watched->path);
                close(watched->directory);
        }
        free(held->watched);
        held->watched = NULL;
        held->watched_count = 0;
}
