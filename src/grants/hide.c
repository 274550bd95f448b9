/* SPDX-License-Identifier: Apache-2.0
 *
 * See hide.h.
 */
#include "grants/hide.h"

#include "grants/mountinfo.h"
#include "grants/mounts.h"
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/path_walk.h"
#include "lib/tree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
        MAX_ENTRIES = 200000, /* searched for patterns, in all grants together */
        MAX_MASKS = 4096,     /* each is a mount, and many functions walk the list of mounts */
};

static bool shows_host(const struct mount *mount)
{
        return mount->kind == MOUNT_BIND || mount->kind == MOUNT_OVERLAY;
}

void hide_object(struct box *box, const char *real, bool is_directory, struct mount_reason reason)
{
        size_t count = box->mount_count;
        for (size_t i = 0; i < count; i++) {
                if (!shows_host(&box->mounts[i]) || !path_is_below(real, box->mounts[i].source))
                        continue;
                autofree char *place = mounts_place(&box->mounts[i], real);
                /* A deeper mount may cover that path; it shows another object, or is a mask already. */
                if (box_find_mount(box, place) != &box->mounts[i])
                        continue;
                struct mount mask = {
                    .kind = MOUNT_MASK,
                    .is_directory = is_directory,
                    .destination = str_copy(place),
                    .origin = reason.origin,
                    .why = str_copy(reason.text),
                };
                box_add_mount(box, &mask);
        }
}

static const struct mount *find_writable_above(const struct box *box, const char *real)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (box->mounts[i].kind == MOUNT_BIND && box->mounts[i].writable &&
                    path_is_below(real, box->mounts[i].source))
                        return &box->mounts[i];
        return NULL;
}

/* A mask covers one path; the file stays readable at its other hard links. */
static void note_other_names(const char *path, const struct stat *status, const char *why)
{
        if (!S_ISDIR(status->st_mode) && status->st_nlink > 1)
                message("note: %s (%s) has other names, by hard links, which stay visible", error_shown(path),
                        why);
}

static bool hide_path(const struct resolver *resolver, const char *path, const char *why)
{
        struct box *box = resolver->box;
        const struct walked *walked = path_walk(resolver_walker(resolver), path);
        if (!walked->problem) {
                const char *real = walked->real;
                note_other_names(real, &walked->status, why);
                hide_object(box, real, S_ISDIR(walked->status.st_mode), REASON_OPTION(why));
                struct str_list others = {0};
                bool found = mountinfo_find_others(box, real, &others, resolver->error);
                for (size_t i = 0; found && i < others.count; i++)
                        hide_object(box, others.values[i],
                                    path_walk_is_directory(resolver_walker(resolver), others.values[i]),
                                    REASON_OPTION(why));
                str_list_free(&others);
                return found;
        }
        if (walked->problem != ENOENT && walked->problem != ENOTDIR)
                return error_set(resolver->error, EXIT_SETUP, "%s: %s: hutch cannot hide it", why,
                                 strerror(walked->problem));
        autofree char *missing = path_walk_missing(resolver_walker(resolver), path);
        const struct mount *grant = find_writable_above(box, missing);
        if (grant)
                return error_set(
                    resolver->error, EXIT_USAGE,
                    "%s: there is no such file, and one that the command creates there in the writable %s "
                    "would be visible; check the path",
                    why, grant->source);
        message(
            "note: %s hides nothing: no grant shows such a path; hutch looks for a name or pattern without "
            "/ at any depth",
            why);
        return true;
}

struct pattern {
        char *text;
        bool whole_path; /* compared with real paths; otherwise with names at any depth */
        bool is_literal; /* compared as text; otherwise by fnmatch(3) */
        bool has_matched;
        char *why;
};

struct walk {
        const struct resolver *resolver;
        struct pattern *patterns;
        size_t pattern_count;
        size_t entries;
        const struct mount *grant; /* a copy: the list in the box grows */
        int root;                  /* the grant's directory */
};

static bool is_pattern(const char *text)
{
        return strpbrk(text, "*?[");
}

/* A pattern of whole paths: the directories before its first wildcard by their real path, the rest as it is.
 */
static char *resolve_pattern(const struct resolver *resolver, const char *text)
{
        autofree char *path = path_join(resolver->cwd, text);
        char *end = path + strcspn(path, "*?[");
        while (end > path && *end != '/')
                end--;
        autofree char *directory = str_copy_n(path, (size_t)(end - path));
        const char *real = directory[0] ? path_walk_real(resolver_walker(resolver), directory) : NULL;
        return str_format("%s%s", real && real[1] ? real : real ? "" : directory, end);
}

/* Returns the first pattern that matches, and marks all that do. */
static const struct pattern *find_match(const struct walk *walk, const char *path, const char *name)
{
        const struct pattern *first = NULL;
        for (size_t i = 0; i < walk->pattern_count; i++) {
                struct pattern *pattern = &walk->patterns[i];
                const char *subject = pattern->whole_path ? path : name;
                bool matches = pattern->is_literal ? str_equal(pattern->text, subject)
                                                   : fnmatch(pattern->text, subject,
                                                             pattern->whole_path ? FNM_PATHNAME : 0) == 0;
                if (!matches)
                        continue;
                pattern->has_matched = true;
                first = first ? first : pattern;
        }
        return first;
}

/* True when a mount shows something below `directory` separately: patterns apply there too. */
static bool holds_grant(const struct box *box, const char *directory)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (shows_host(&box->mounts[i]) && path_is_below(box->mounts[i].source, directory))
                        return true;
        return false;
}

/* Hides what a matching link leads to, since the sandbox could reach it by its own name. Only in grants: a
 * link must not hide what the host tree's programs need. */
static void hide_target(struct walk *walk, const char *path, const char *why)
{
        const struct walked *target = path_walk(resolver_walker(walk->resolver), path);
        const char *real = target->real;
        if (target->problem)
                return;
        for (size_t i = 0; i < walk->resolver->box->mount_count; i++)
                if (mount_is_grant(&walk->resolver->box->mounts[i]) &&
                    path_is_below(real, walk->resolver->box->mounts[i].source)) {
                        hide_object(walk->resolver->box, real, S_ISDIR(target->status.st_mode),
                                    REASON_OPTION(why));
                        return;
                }
}

static bool hide_entry(struct tree_walk *tree, int directory, const char *relative, const char *name)
{
        struct walk *walk = tree->context;
        struct stat status;
        tree->is_ended = ++walk->entries > MAX_ENTRIES;
        if (tree->is_ended)
                return error_set(walk->resolver->error, EXIT_SETUP,
                                 "--hide: the grants have more than %d files and directories to search; "
                                 "grant less, or name "
                                 "paths instead of patterns",
                                 MAX_ENTRIES);
        if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
                return false; /* deleted meanwhile */
        autofree char *path =
            str_format("%s/%s%s%s", walk->grant->source, relative, relative[0] ? "/" : "", name);
        const struct pattern *match = find_match(walk, path, name);
        tree->is_ended = match && walk->resolver->box->mount_count > MAX_MASKS;
        if (tree->is_ended)
                return error_set(walk->resolver->error, EXIT_SETUP,
                                 "%s matches too much: hutch hides at most %d paths", match->why, MAX_MASKS);
        if (match && S_ISLNK(status.st_mode)) {
                hide_target(walk, path, match->why);
        } else if (match) {
                note_other_names(path, &status, match->why);
                hide_object(walk->resolver->box, path, S_ISDIR(status.st_mode), REASON_OPTION(match->why));
        }
        return S_ISDIR(status.st_mode) && (!match || holds_grant(walk->resolver->box, path));
}

/* True when the sandbox cannot open a directory either that hutch cannot open: it must not be able to change
 * the mode. */
static bool stays_closed(const struct walk *walk, const char *relative)
{
        struct stat status;
        bool writable = walk->grant->kind == MOUNT_OVERLAY || walk->grant->writable;
        return !writable ||
               (fstatat(walk->root, relative[0] ? relative : ".", &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                status.st_uid != geteuid());
}

/* A directory that hutch cannot search must stay closed to the sandbox too. */
static void refuse_unopened(struct tree_walk *tree, const char *relative)
{
        struct walk *walk = tree->context;
        if (errno == ENOENT || (errno == EACCES && stays_closed(walk, relative)))
                return;
        error_set(walk->resolver->error, EXIT_SETUP, "--hide: cannot search %s/%s: %s", walk->grant->source,
                  relative, strerror(errno));
        tree->is_ended = true;
}

static bool walk_grant(struct walk *walk, const struct mount *grant)
{
        walk->grant = grant;
        walk->root = path_walk(resolver_walker(walk->resolver), grant->source)->descriptor;
        struct tree_walk tree = {
            .root = walk->root,
            .max_depth = UINT_MAX,
            .max_directories = SIZE_MAX,
            .max_entries = SIZE_MAX,
            .other_mounts = true,
            .context = walk,
            .entry = hide_entry,
            .unopened = refuse_unopened,
        };
        tree_walk(&tree);
        return !tree.is_ended;
}

/* True when the walk of another grant covers this one: hide_object() puts a mask wherever any mount shows the
 * object. */
static bool is_walked_with_another(const struct box *box, size_t count, size_t index)
{
        const char *source = box->mounts[index].source;
        for (size_t i = 0; i < count; i++)
                if (i != index && mount_is_grant(&box->mounts[i]) && box->mounts[i].is_directory &&
                    path_is_below(source, box->mounts[i].source) &&
                    (i < index || !str_equal(source, box->mounts[i].source)))
                        return true;
        return false;
}

static bool walk_grants(struct walk *walk)
{
        size_t count = walk->resolver->box->mount_count;
        for (size_t i = 0; i < count; i++) {
                struct mount grant = walk->resolver->box->mounts[i];
                if (mount_is_grant(&grant) && grant.is_directory &&
                    !is_walked_with_another(walk->resolver->box, count, i) && !walk_grant(walk, &grant))
                        return false;
        }
        return true;
}

/* One --hide. hutch looks for a name without a / at any depth, and also hides what exists at that name in the
 * working directory, whether or not the walk of a grant meets it. */
static bool add_pattern(struct walk *walk, const char *written)
{
        size_t length = strlen(written);
        while (length > 1 && written[length - 1] == '/')
                length--;
        struct stat status;
        autofree char *text = str_copy_n(written, length);
        autofree char *why = str_format("--hide %s", error_shown(written));
        autofree char *path = path_join(walk->resolver->cwd, text);
        bool whole_path = strchr(text, '/') || str_equal(text, ".") || str_equal(text, "..");
        bool exists = lstat(path, &status) == 0;
        /* A file's name may contain wildcards (app/[id]): if it exists as written, it is a path. */
        bool is_literal = !is_pattern(text) || exists;
        if (is_literal && (exists || whole_path) && !hide_path(walk->resolver, path, why))
                return false;
        if (is_literal && whole_path)
                return true;
        walk->patterns[walk->pattern_count++] = (struct pattern){
            .text = whole_path ? resolve_pattern(walk->resolver, text) : str_copy(text),
            .whole_path = whole_path,
            .is_literal = is_literal,
            .has_matched = exists,
            .why = str_copy(why),
        };
        return true;
}

/* A name that matches nothing is probably misspelled; a pattern need not match. */
static bool check_matched(const struct walk *walk)
{
        for (size_t i = 0; i < walk->pattern_count; i++) {
                const struct pattern *pattern = &walk->patterns[i];
                autofree char *path = path_join(walk->resolver->cwd, pattern->text);
                if (pattern->is_literal && !pattern->has_matched &&
                    !hide_path(walk->resolver, path, pattern->why))
                        return false;
        }
        return true;
}

bool hide_add(const struct resolver *resolver)
{
        const struct str_list *patterns = &resolver->options->hide;
        struct walk walk = {.resolver = resolver};
        if (patterns->count == 0)
                return true;
        walk.patterns = str_or_die(calloc(patterns->count, sizeof(*walk.patterns)));
        bool added = true;
        for (size_t i = 0; added && i < patterns->count; i++)
                added = add_pattern(&walk, patterns->values[i]);
        if (added && walk.pattern_count)
                added = walk_grants(&walk) && check_matched(&walk);
        for (size_t i = 0; i < walk.pattern_count; i++) {
                free(walk.patterns[i].text);
                free(walk.patterns[i].why);
        }
        free(walk.patterns);
        return added;
}
