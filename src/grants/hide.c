/* SPDX-License-Identifier: Apache-2.0
 *
 * See hide.h.
 */
#include "grants/hide.h"

#include "grants/mountinfo.h"
#include "grants/mounts.h"
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/real_path.h"
#include "lib/suggest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum {
        MOST_ENTRIES = 200000, /* looked at for patterns, in all grants together */
        MOST_MASKS = 4096,     /* each is a mount, and a box is searched by its mounts */
};

static bool shows_host(const struct mount *mount)
{
        return mount->kind == MOUNT_BIND || mount->kind == MOUNT_OVERLAY;
}

void hide_object(struct box *box, const char *real, bool is_directory, const char *why)
{
        size_t count = box->mount_count;
        for (size_t i = 0; i < count; i++) {
                if (!shows_host(&box->mounts[i]) || !path_is_below(real, box->mounts[i].source))
                        continue;
                autofree char *place = mounts_place(&box->mounts[i], real);
                /* Another mount may have that place, which then shows something else, or is a mask already.
                 */
                if (box_find_mount(box, place) != &box->mounts[i])
                        continue;
                struct mount mask = {
                    .kind = MOUNT_MASK,
                    .is_directory = is_directory,
                    .destination = str_copy(place),
                    .why = str_copy(why),
                };
                box_add_mount(box, &mask);
        }
}

/* ---- one path ---- */

static const struct mount *find_writable(const struct box *box, const char *real)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (box->mounts[i].kind == MOUNT_BIND && box->mounts[i].writable &&
                    path_is_below(real, box->mounts[i].source))
                        return &box->mounts[i];
        return NULL;
}

/* Another name of the same file stays as it is. */
static void note_other_names(const char *path, const struct stat *status, const char *why)
{
        if (!S_ISDIR(status->st_mode) && status->st_nlink > 1)
                message("note: %s (%s) has other names, by hard links, that are not hidden",
                        error_shown(path), why);
}

static bool hide_path(struct box *box, const char *path, const char *why, struct error *error)
{
        struct stat status;
        autofree char *real = realpath(path, NULL);
        if (real && lstat(real, &status) == 0) {
                note_other_names(real, &status, why);
                hide_object(box, real, S_ISDIR(status.st_mode), why);
                struct str_list others = {0};
                bool found = mountinfo_find_others(box, real, &others, error);
                for (size_t i = 0; found && i < others.count; i++)
                        if (lstat(others.values[i], &status) == 0)
                                hide_object(box, others.values[i], S_ISDIR(status.st_mode), why);
                str_list_free(&others);
                return found;
        }
        if (errno != ENOENT && errno != ENOTDIR)
                return error_set(error, EXIT_SETUP, "%s: %s: it cannot be hidden", why, strerror(errno));
        autofree char *missing = real_path_of_missing(path);
        const struct mount *grant = find_writable(box, missing);
        if (grant)
                return error_set(
                    error, EXIT_USAGE,
                    "%s: there is no such file, and what the command puts there in the writable %s "
                    "would not be hidden; check the path",
                    why, grant->source);
        message("note: %s hides nothing: nothing that a grant shows is there; a name or pattern without / is "
                "looked for at any depth",
                why);
        return true;
}

/* ---- patterns ---- */

struct pattern {
        char *text;
        bool whole_path; /* matches real paths; else names at any depth */
        bool is_literal;
        bool has_matched;
        char *why;
};

struct walk {
        struct box *box;
        struct pattern *patterns;
        size_t pattern_count;
        size_t entries;
        const struct mount *grant;   /* a copy: the box's own list grows */
        int root;                    /* the grant's directory */
        struct str_list directories; /* still to be looked into, relative to it; "" is itself */
        struct error *error;
};

static bool is_pattern(const char *text)
{
        return strpbrk(text, "*?[");
}

/* A path's directories before the first that is a pattern, by their real path, and the rest as it is. */
static char *resolve_pattern(const char *cwd, const char *text)
{
        autofree char *path = path_join(cwd, text);
        char *end = path + strcspn(path, "*?[");
        while (end > path && *end != '/')
                end--;
        autofree char *directory = str_copy_n(path, (size_t)(end - path));
        char *real = directory[0] ? realpath(directory, NULL) : NULL;
        char *resolved = str_format("%s%s", real && real[1] ? real : real ? "" : directory, end);
        free(real);
        return resolved;
}

/* The first that matches; all that do are marked. */
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

/* True when something below a hidden directory is granted more closely, and has names of its own. */
static bool holds_grant(const struct box *box, const char *directory)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (shows_host(&box->mounts[i]) && path_is_below(box->mounts[i].source, directory))
                        return true;
        return false;
}

/* The file behind a link that matches has a second name that does not; but a link may not hide what the
 * machine's own programs need. */
static void hide_target(struct walk *walk, const char *path, const char *why)
{
        struct stat status;
        autofree char *real = realpath(path, NULL);
        if (!real || lstat(real, &status) < 0)
                return;
        for (size_t i = 0; i < walk->box->mount_count; i++)
                if (mount_is_grant(&walk->box->mounts[i]) &&
                    path_is_below(real, walk->box->mounts[i].source)) {
                        hide_object(walk->box, real, S_ISDIR(status.st_mode), why);
                        return;
                }
}

static bool look_at_entry(struct walk *walk, int directory, const char *relative, const char *name)
{
        struct stat status;
        if (++walk->entries > MOST_ENTRIES)
                return error_set(
                    walk->error, EXIT_SETUP,
                    "--hide: the grants have more than %d files and directories to look at; grant less, "
                    "or name paths instead of patterns",
                    MOST_ENTRIES);
        if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
                return true; /* it has gone */
        autofree char *below = str_format("%s%s%s", relative, relative[0] ? "/" : "", name);
        autofree char *path = str_format("%s/%s", walk->grant->source, below);
        const struct pattern *match = find_match(walk, path, name);
        if (match && walk->box->mount_count > MOST_MASKS)
                return error_set(walk->error, EXIT_SETUP,
                                 "%s matches too much; more than %d places cannot be hidden", match->why,
                                 MOST_MASKS);
        if (match && S_ISLNK(status.st_mode)) {
                hide_target(walk, path, match->why);
        } else if (match) {
                note_other_names(path, &status, match->why);
                hide_object(walk->box, path, S_ISDIR(status.st_mode), match->why);
        }
        if (S_ISDIR(status.st_mode) && (!match || holds_grant(walk->box, path))) {
                str_list_take(&walk->directories, below);
                below = NULL;
        }
        return true;
}

/* True when a directory that cannot be opened is closed to the sandbox too, and stays so. */
static bool stays_closed(const struct walk *walk, const char *relative)
{
        struct stat status;
        bool writable = walk->grant->kind == MOUNT_OVERLAY || walk->grant->writable;
        return !writable ||
               (fstatat(walk->root, relative[0] ? relative : ".", &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                status.st_uid != geteuid());
}

static bool look_into(struct walk *walk, const char *relative)
{
        struct open_how how = {
            .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
            .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
        };
        autoclose int opened =
            (int)syscall(SYS_openat2, walk->root, relative[0] ? relative : ".", &how, sizeof(how));
        if (opened < 0 && (errno == ENOENT || (errno == EACCES && stays_closed(walk, relative))))
                return true;
        DIR *directory = opened < 0 ? NULL : fdopendir(opened);
        if (!directory)
                return error_set(walk->error, EXIT_SETUP, "--hide: cannot look into %s/%s: %s",
                                 walk->grant->source, relative, strerror(errno));
        (void)fd_take(&opened);
        bool looked = true;
        for (struct dirent *entry; looked && (entry = readdir(directory));)
                if (!str_equal(entry->d_name, ".") && !str_equal(entry->d_name, ".."))
                        looked = look_at_entry(walk, dirfd(directory), relative, entry->d_name);
        closedir(directory);
        return looked;
}

static bool walk_grant(struct walk *walk, const struct mount *grant)
{
        autoclose int root = open(grant->source, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct stat status;
        if (root < 0 || fstat(root, &status) < 0)
                return error_set(walk->error, EXIT_SETUP, "--hide: cannot look into %s: %s", grant->source,
                                 strerror(errno));
        if (status.st_dev != grant->device || status.st_ino != grant->inode)
                return error_set(walk->error, EXIT_SETUP, "--hide: %s was replaced while hutch started",
                                 grant->source);
        walk->grant = grant;
        walk->root = root;
        str_list_add(&walk->directories, "");
        bool looked = true;
        while (looked && walk->directories.count) {
                autofree char *relative = walk->directories.values[--walk->directories.count];
                walk->directories.values[walk->directories.count] = NULL;
                looked = look_into(walk, relative);
        }
        return looked;
}

/* True when another grant's walk comes by: the mask is put wherever any mount shows the object. */
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
        size_t count = walk->box->mount_count;
        for (size_t i = 0; i < count; i++) {
                struct mount grant = walk->box->mounts[i];
                if (mount_is_grant(&grant) && grant.is_directory &&
                    !is_walked_with_another(walk->box, count, i) && !walk_grant(walk, &grant))
                        return false;
        }
        return true;
}

/* One --hide. A name without a / is looked for at any depth; what exists where it leads to from the working
 * directory is hidden whether a grant's own walk comes by or not. */
static bool add_pattern(struct walk *walk, const char *cwd, const char *written)
{
        size_t length = strlen(written);
        while (length > 1 && written[length - 1] == '/')
                length--;
        struct stat status;
        autofree char *text = str_copy_n(written, length);
        autofree char *why = str_format("--hide %s", error_shown(written));
        autofree char *path = path_join(cwd, text);
        bool whole_path = strchr(text, '/') || str_equal(text, ".") || str_equal(text, "..");
        bool exists = lstat(path, &status) == 0;
        /* A file's own name may have such signs (app/[id]): what exists as a whole is a path. */
        bool is_literal = !is_pattern(text) || exists;
        if (is_literal && (exists || whole_path) && !hide_path(walk->box, path, why, walk->error))
                return false;
        if (is_literal && whole_path)
                return true;
        walk->patterns[walk->pattern_count++] = (struct pattern){
            .text = whole_path ? resolve_pattern(cwd, text) : str_copy(text),
            .whole_path = whole_path,
            .is_literal = is_literal,
            .has_matched = exists,
            .why = str_copy(why),
        };
        return true;
}

/* A name that is nowhere is a slip of the pen; a pattern need not match. */
static bool check_matched(const struct walk *walk, const char *cwd)
{
        for (size_t i = 0; i < walk->pattern_count; i++) {
                const struct pattern *pattern = &walk->patterns[i];
                autofree char *path = path_join(cwd, pattern->text);
                if (pattern->is_literal && !pattern->has_matched &&
                    !hide_path(walk->box, path, pattern->why, walk->error))
                        return false;
        }
        return true;
}

bool hide_add(struct box *box, const struct str_list *patterns, const char *cwd, struct error *error)
{
        struct walk walk = {.box = box, .error = error};
        if (patterns->count == 0)
                return true;
        walk.patterns = str_or_die(calloc(patterns->count, sizeof(*walk.patterns)));
        bool added = true;
        for (size_t i = 0; added && i < patterns->count; i++)
                added = add_pattern(&walk, cwd, patterns->values[i]);
        if (added && walk.pattern_count)
                added = walk_grants(&walk) && check_matched(&walk, cwd);
        for (size_t i = 0; i < walk.pattern_count; i++) {
                free(walk.patterns[i].text);
                free(walk.patterns[i].why);
        }
        free(walk.patterns);
        str_list_free(&walk.directories);
        return added;
}
