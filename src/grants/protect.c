/* SPDX-License-Identifier: Apache-2.0
 *
 * See protect.h.
 */
#include "grants/protect.h"

#include "grants/git.h"
#include "grants/mountinfo.h"
#include "grants/mounts.h"
#include "grants/sensitive_paths.h"
#include "grants/watched_names.h"
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/path_walk.h"
#include "lib/tree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

static const struct mount_reason protected_by_default = {ORIGIN_PROTECT, "protected"};

enum {
        MAX_LINKS = 8, /* in a chain */
        /* The search of a protected directory for links. */
        MAX_DEPTH = 3,
        MAX_DIRECTORIES = 64,
        MAX_ENTRIES = 2000,
        MAX_FOUND_LINKS = 256, /* in all of these directories together */
};

struct grant {
        struct mount mount; /* a copy: the list in the box grows */
        size_t index;       /* in that list */
        size_t watched;     /* the index of its directory in held->watched */
};

struct protector {
        const struct resolver *resolver;
        struct grant *grants;
        size_t grant_count;
        struct str_list links; /* in protected directories; the mounts do not protect what they lead to */
};

static bool is_writable_directory(const struct mount *mount)
{
        /* Only sandboxes use the home of --persist: no host program starts anything from it. */
        return mount->kind == MOUNT_BIND && mount->writable && mount->is_directory &&
               mount->origin != ORIGIN_PERSIST;
}

static bool find_grants(struct protector *protector)
{
        struct box *box = protector->resolver->box;
        protector->grants = str_or_die(calloc(box->mount_count + 1, sizeof(*protector->grants)));
        for (size_t i = 0; i < box->mount_count; i++) {
                if (!is_writable_directory(&box->mounts[i]))
                        continue;
                protector->grants[protector->grant_count++] =
                    (struct grant){box->mounts[i], i, protector->resolver->held->watched_count};
                if (!watched_names_open(protector->resolver, &box->mounts[i]))
                        return false;
        }
        return true;
}

/* The path that the link at `path` leads to, which need not exist; the caller frees. */
static char *read_link(const struct resolver *resolver, const char *path)
{
        const struct walked *walked = path_walk(resolver_walker(resolver), path);
        for (size_t i = 0; i < walked->links.count; i++)
                if (str_equal(walked->links.values[i], path)) {
                        autofree char *parent = path_parent(path);
                        const char *text = walked->texts.values[i];
                        autofree char *target =
                            text[0] == '/' ? str_copy(text) : str_format("%s/%s", parent, text);
                        return path_walk_missing(resolver_walker(resolver), target);
                }
        return NULL;
}

/* Watches every link on the way from `path`: the command can replace each one, and the host would then use
 * another object than the protected one. */
static void watch_links(struct protector *protector, const char *path)
{
        const struct str_list *links = &path_walk(resolver_walker(protector->resolver), path)->links;
        for (size_t i = 0; i < links->count; i++)
                for (size_t j = 0; j < protector->grant_count; j++) {
                        const struct grant *grant = &protector->grants[j];
                        const char *source = grant->mount.source;
                        if (!path_is_below(links->values[i], source))
                                continue;
                        struct watched_directory *watched =
                            &protector->resolver->held->watched[grant->watched];
                        const char *name = links->values[i] + strlen(source) + 1;
                        struct found_name found = watched_names_look(watched->directory, name);
                        watched_names_add(watched, name, &found);
                }
}

struct link_search {
        struct protector *protector;
        const char *directory;
};

static bool remember_link(struct tree_walk *tree, int directory, const char *relative, const char *name)
{
        const struct link_search *search = tree->context;
        struct str_list *links = &search->protector->links;
        struct stat status;
        if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode) &&
            links->count < MAX_FOUND_LINKS)
                str_list_take(links, str_format("%s/%s%s%s", search->directory, relative,
                                                relative[0] ? "/" : "", name));
        return true;
}

/* Remembers the links in a protected directory: hooks are often links to scripts of the project. */
static void remember_links(struct protector *protector, const char *directory)
{
        struct link_search search = {protector, directory};
        struct tree_walk tree = {
            .root = path_walk(resolver_walker(protector->resolver), directory)->descriptor,
            .max_depth = MAX_DEPTH,
            .max_directories = MAX_DIRECTORIES,
            .max_entries = MAX_ENTRIES,
            .context = &search,
            .entry = remember_link,
        };
        tree_walk(&tree);
}

/* Protects `name` below one grant. *next becomes the path to protect next when a link is on the way. */
static bool protect_name(struct protector *protector, const struct grant *grant, const char *name,
                         struct mount_reason reason, char **next)
{
        struct box *box = protector->resolver->box;
        struct watched_directory *watched = &protector->resolver->held->watched[grant->watched];
        struct found_name found = watched_names_look(watched->directory, name);
        bool is_link = found.length && S_ISLNK(found.status.st_mode);
        if (!found.length || is_link)
                watched_names_add(watched, name, &found);
        if (!found.length)
                return true;
        autofree char *part = str_copy_n(name, found.length);
        autofree char *real = path_join(watched->path, part);
        if (is_link) {
                autofree char *target = read_link(protector->resolver, real);
                autofree char *whole = path_join(watched->path, name);
                watch_links(protector, whole);
                if (target && !*next)
                        *next = str_format("%s%s", target, name + found.length);
                return true;
        }
        autofree char *place = mounts_place(&grant->mount, real);
        /* Another mount that covers the path decides: a grant of the user's, a mask, or a read-only mount of
         * this module. */
        const struct mount *deciding = box_find_mount(box, place);
        if (deciding != &box->mounts[grant->index] || !deciding->writable)
                return true;
        if (!S_ISDIR(found.status.st_mode) && found.status.st_nlink > 1)
                message("note: %s has other names, by hard links; the command can change it through one in a "
                        "writable grant",
                        error_shown(real));
        if (S_ISDIR(found.status.st_mode))
                remember_links(protector, real);
        return mounts_add_bind(protector->resolver, real, place, false, reason);
}

/* Protects `path`, whose directory is real and which need not exist, in every writable grant that contains
 * it, and what a link there leads to. Adds the number of these grants to *held_by, which may be NULL. */
static bool protect_place(struct protector *protector, const char *path, struct mount_reason reason,
                          size_t *held_by)
{
        autofree char *place = str_copy(path);
        for (unsigned links = 0; place && links < MAX_LINKS; links++) {
                char *next = NULL;
                for (size_t i = 0; i < protector->grant_count; i++) {
                        const char *source = protector->grants[i].mount.source;
                        if (!path_is_below(place, source) || str_equal(place, source))
                                continue;
                        if (held_by)
                                (*held_by)++;
                        if (!protect_name(protector, &protector->grants[i], place + strlen(source) + 1,
                                          reason, &next)) {
                                free(next);
                                return false;
                        }
                }
                free(place);
                place = next;
        }
        return true;
}

/* `path` with the real path of its directory; the last component may be a link. */
static char *real_place(const struct resolver *resolver, const char *path)
{
        autofree char *parent = path_parent(path);
        const char *real = path_walk_real(resolver_walker(resolver), parent);
        return real ? path_join(real, strrchr(path, '/') + 1) : NULL;
}

/* A second grant of the same object, at another path inside, must not stay writable. */
static void make_read_only(struct box *box, const char *path)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (box->mounts[i].kind == MOUNT_BIND && path_is_below(box->mounts[i].source, path))
                        box->mounts[i].writable = false;
}

/* Protects the object at `place`, or the name where none exists, at every path at which the host shows it. */
static bool protect_everywhere(struct protector *protector, const char *place, size_t *held_by)
{
        struct str_list places = {0};
        struct stat status;
        str_list_add(&places, place);
        bool done = lstat(place, &status) < 0 || mountinfo_find_others(protector->resolver->box, place,
                                                                       &places, protector->resolver->error);
        for (size_t i = 0; done && i < places.count; i++) {
                done = protect_place(protector, places.values[i], REASON_OPTION("--protect"), held_by);
                if (done)
                        make_read_only(protector->resolver->box, places.values[i]);
        }
        str_list_free(&places);
        return done;
}

/* The name of a row of the table, relative to `grant`: in a granted .git directory the hooks are `hooks`.
 * NULL when the row does not protect. It need not exist. */
static const char *default_name(const struct mount *grant, size_t index)
{
        const char *name = sensitive_rows[index].path;
        bool is_repository = str_equal(strrchr(grant->source, '/'), "/.git");
        if (sensitive_rows[index].kind != SENSITIVE_PROTECTED)
                return NULL;
        return is_repository && str_starts(name, ".git/") ? name + strlen(".git/") : name;
}

bool protect_names(const struct box *box, const char *path)
{
        const struct mount *grant = NULL; /* the deepest that the user asked for: pins have no names */
        for (size_t i = 0; i < box->mount_count; i++) {
                const struct mount *mount = &box->mounts[i];
                if (is_writable_directory(mount) && mount_is_asked_for(mount) &&
                    path_is_below(path, mount->destination) &&
                    (!grant || path_depth(mount->destination) >= path_depth(grant->destination)))
                        grant = mount;
        }
        for (size_t i = 0; grant && i < sensitive_row_count; i++) {
                const char *name = default_name(grant, i);
                autofree char *place = name ? path_join(grant->destination, name) : NULL;
                if (place && (path_is_below(path, place) || path_is_below(place, path)))
                        return true;
        }
        return false;
}

/* One --protect. */
static bool protect_asked(struct protector *protector, const char *text)
{
        struct stat status;
        size_t held_by = 0;
        autofree char *path = path_join(protector->resolver->cwd, text);
        autofree char *place = path[1] ? real_place(protector->resolver, path) : NULL;
        if (!place || lstat(place, &status) < 0)
                return error_set(protector->resolver->error, EXIT_USAGE,
                                 "--protect %s: %s: hutch can protect only what exists at the start",
                                 error_shown(text), path[1] ? strerror(errno) : "it is the root");
        if (!protect_everywhere(protector, place, &held_by))
                return false;
        if (S_ISLNK(status.st_mode)) {
                autofree char *target = path_walk_missing(resolver_walker(protector->resolver), place);
                size_t target_held_by = 0;
                if (!protect_everywhere(protector, target, &target_held_by))
                        return false;
                if (held_by && !target_held_by)
                        message("note: --protect %s: it is a link to %s, which is in no writable grant; the "
                                "command can replace the link itself, and hutch reports that at the end",
                                error_shown(text), error_shown(target));
                held_by += target_held_by;
        }
        return held_by ||
               error_set(
                   protector->resolver->error, EXIT_USAGE,
                   "--protect %s: it is in no writable grant; the command cannot change other files of the "
                   "host anyway",
                   error_shown(place));
}

/* Protects the names of the table and what git.h finds. */
static bool protect_defaults(struct protector *protector)
{
        for (size_t i = 0; i < protector->grant_count; i++)
                for (size_t j = 0; j < sensitive_row_count; j++) {
                        autofree char *next = NULL;
                        const struct grant *grant = &protector->grants[i];
                        const char *name = default_name(&grant->mount, j);
                        if (name && (!protect_name(protector, grant, name, protected_by_default, &next) ||
                                     (next && !protect_place(protector, next, protected_by_default, NULL))))
                                return false;
                }
        struct str_list places = {0};
        git_find(protector->resolver, &places);
        bool done = true;
        for (size_t i = 0; done && i < places.count; i++)
                done = protect_place(protector, places.values[i], protected_by_default, NULL);
        str_list_free(&places);
        /* Not what links to directories lead to: that may be all of the project. */
        for (size_t i = 0; done && i < protector->links.count; i++) {
                const char *link = protector->links.values[i];
                if (!path_walk_is_directory(resolver_walker(protector->resolver), link))
                        done = protect_place(protector, link, protected_by_default, NULL);
        }
        return done;
}

/* Pins the directories between the mount at `place` and the writable grant that contains it. */
static bool pin_above(const struct resolver *resolver, const char *place)
{
        struct box *box = resolver->box;
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
                /* Attaching the mount below will fail, with an error that names it. */
                if (faccessat(AT_FDCWD, real, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
                        return true;
                if (!mounts_add_bind(resolver, real, directory, true,
                                     (struct mount_reason){ORIGIN_PROTECT, why}))
                        return false;
        }
        return true;
}

/* Pins above every mount that the box has so far. A pin itself needs none: those above it come first. */
static bool pin_all(const struct resolver *resolver)
{
        struct box *box = resolver->box;
        size_t count = box->mount_count;
        for (size_t i = 0; i < count; i++) {
                autofree char *place = str_copy(box->mounts[i].destination);
                if (box->mounts[i].kind != MOUNT_LINK && place[1] && !pin_above(resolver, place))
                        return false;
        }
        return true;
}

bool protect_add(const struct resolver *resolver)
{
        const struct options *options = resolver->options;
        struct protector protector = {.resolver = resolver};
        bool done = find_grants(&protector);
        for (size_t i = 0; done && i < options->protect.count; i++)
                done = protect_asked(&protector, options->protect.values[i]);
        if (done && protector.grant_count && !options->no_protect)
                done = protect_defaults(&protector);
        bool any = protector.grant_count > 0;
        free(protector.grants);
        str_list_free(&protector.links);
        return done && (!any || pin_all(resolver));
}
