/* SPDX-License-Identifier: Apache-2.0
 *
 * See path_walk.h.
 */
#include "lib/path_walk.h"

#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <search.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
        MAX_LINKS = 40, /* as many as the kernel follows (path_resolution(7)) */
};

/* ---- without links ---- */

static int open_without_links(int directory, const char *path, int flags)
{
        struct open_how how = {
            .flags = (unsigned)(flags | O_CLOEXEC),
            .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
        };
        return (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
}

/* The same for one component. With O_NOFOLLOW, a link is ENOTDIR where a directory is wanted, and is opened
 * itself by O_PATH. */
static int open_component(int directory, const char *name, int flags)
{
        struct stat status;
        autoclose int found = openat(directory, name, flags | O_NOFOLLOW | O_CLOEXEC);
        int problem = errno;
        bool is_examined = found >= 0 ? fstat(found, &status) == 0
                                      : fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
        if (is_examined && S_ISLNK(status.st_mode)) {
                errno = ELOOP;
                return -1;
        }
        errno = problem;
        return fd_take(&found);
}

int real_path_open(int directory, const char *real, int flags)
{
        int found = open_without_links(directory, real, flags);
        if (found >= 0 || errno != ENOSYS)
                return found;
        autoclose int at = openat(directory, real[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        autofree char *copy = str_copy(real);
        char *rest = copy + strspn(copy, "/");
        for (char *name; at >= 0 && (name = strsep(&rest, "/"));) {
                int next = open_component(at, *name ? name : ".", rest ? O_PATH | O_DIRECTORY : flags);
                if (!rest || next < 0)
                        return next;
                close(at);
                at = next;
        }
        return -1;
}

char *real_path_of_descriptor(int descriptor)
{
        autofree char *link = str_format("/proc/self/fd/%d", descriptor);
        return realpath(link, NULL);
}

/* ---- with links ---- */

typedef int opener(int directory, const char *path, int flags);

/* Opens a directory as one, which makes autofs mount the file system that belongs there. */
static int open_object(opener *open_path, int directory, const char *path)
{
        int found = open_path(directory, path, O_PATH | O_DIRECTORY);
        return found < 0 && errno == ENOTDIR ? open_path(directory, path, O_PATH) : found;
}

/* The state of one walk: `rest` is still to be walked from the directory `at`, whose real path is `real`. */
struct walk {
        struct walked *walked;
        char *real, *rest;
        int at;      /* -1: the root, which is not open */
        bool is_new; /* no component was read since the start or since the last link */
        bool by_component;
};

/* Moves on to `opened`, whose real path is `real`. */
static int move(struct walk *walk, int opened, char *real)
{
        int problem = opened < 0 ? -errno : 0;
        if (problem < 0) {
                free(real);
                return problem;
        }
        fd_autoclose(&walk->at);
        walk->at = opened;
        free(walk->real);
        walk->real = real;
        return 0;
}

/* Walks all of the rest at once. -ELOOP: a component is a link. -ENOSYS: the kernel cannot. */
static int walk_rest(struct walk *walk)
{
        autofree char *rest = str_format("%s%s", walk->at < 0 ? "/" : "./", walk->rest);
        char *real = path_join(walk->real, rest + 1 + (walk->at >= 0));
        return move(walk, open_object(open_without_links, walk->at, rest), real);
}

static int follow_link(struct walk *walk, char *place, const char *text, const char *rest)
{
        struct walked *walked = walk->walked;
        str_list_take(&walked->links, place);
        str_list_add(&walked->texts, text);
        if (walked->links.count > MAX_LINKS)
                return -ELOOP;
        if (text[0] == '/') {
                fd_close(&walk->at);
                walk->real[1] = 0;
        }
        /* A slash at the end would demand a directory. */
        char *left = str_format("%s%s%s", text + strspn(text, "/"), *rest ? "/" : "", rest);
        free(walk->rest);
        walk->rest = left;
        walk->is_new = true;
        return 0;
}

/* Walks one component of the rest. */
static int walk_component(struct walk *walk)
{
        size_t length = strcspn(walk->rest, "/");
        autofree char *name = str_copy_n(length ? walk->rest : ".", length ? length : 1);
        const char *after = walk->rest + length + strspn(walk->rest + length, "/");
        char *place = path_join(walk->real, name), text[PATH_MAX];
        if (walk->at < 0)
                walk->at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        ssize_t size = readlinkat(walk->at, name, text, sizeof(text) - 1);
        if (size >= 0) {
                text[size] = 0;
                return follow_link(walk, place, text, after);
        }
        /* EINVAL: the component exists and is not a link. */
        int opened = errno == EINVAL ? open_object(open_component, walk->at, name) : -1;
        int problem = move(walk, opened, place);
        if (problem == 0)
                memmove(walk->rest, after, strlen(after) + 1);
        return problem;
}

static int walk_all(struct walk *walk)
{
        for (;;) {
                int problem = walk->is_new && !walk->by_component ? walk_rest(walk) : -ELOOP;
                if (problem != -ELOOP && problem != -ENOSYS)
                        return problem;
                walk->is_new = false;
                problem = walk_component(walk);
                if (problem < 0 || (!walk->is_new && !walk->rest[0]))
                        return problem;
        }
}

static struct walk begin_walk(struct walked *walked, const char *path)
{
        return (struct walk){
            .walked = walked,
            .real = str_copy("/"),
            .rest = str_copy(path + strspn(path, "/")),
            .at = -1,
            .is_new = true,
        };
}

static void end_walk(struct walk *walk)
{
        fd_autoclose(&walk->at);
        free(walk->real);
        free(walk->rest);
}

static void walk_path(struct walked *walked)
{
        struct walk walk = begin_walk(walked, walked->path);
        walked->problem = -walk_all(&walk);
        if (!walked->problem) {
                walked->descriptor = fd_take(&walk.at);
                walked->real = walk.real;
                walk.real = NULL;
                if (fstat(walked->descriptor, &walked->status) < 0)
                        walked->problem = errno;
        }
        end_walk(&walk);
}

/* ---- the answers ---- */

static int compare_paths(const void *one, const void *other)
{
        return strcmp(((const struct walked *)one)->path, ((const struct walked *)other)->path);
}

static int compare_real_paths(const void *one, const void *other)
{
        return strcmp(((const struct walked *)one)->real, ((const struct walked *)other)->real);
}

/* The element of the tree that equals `walked`, which is added where there is none. */
static struct walked *find_or_add(void **tree, struct walked *walked,
                                  int (*compare)(const void *, const void *))
{
        return *(struct walked **)str_or_die(tsearch(walked, tree, compare));
}

static struct walked *find(void **tree, struct walked *walked, int (*compare)(const void *, const void *))
{
        struct walked **found = tfind(walked, tree, compare);
        return found ? *found : NULL;
}

/* Fills *walked from an earlier walk that ended at the same real path. */
static bool take_earlier_end(struct walker *walker, struct walked *walked)
{
        const struct walked *earlier =
            find(&walker->by_real, &(struct walked){.real = walked->path}, compare_real_paths);
        if (!earlier)
                return false;
        walked->problem = earlier->problem;
        walked->real = str_copy(walked->path);
        walked->descriptor = earlier->descriptor;
        walked->status = earlier->status;
        walked->shares_descriptor = true;
        return true;
}

const struct walked *path_walk(struct walker *walker, const char *path)
{
        autofree char *copy = str_copy(path);
        const struct walked *known = find(&walker->by_path, &(struct walked){.path = copy}, compare_paths);
        if (known)
                return known;
        struct walked *walked = str_or_die(calloc(1, sizeof(*walked)));
        walked->path = copy;
        copy = NULL;
        walked->descriptor = -1;
        if (!take_earlier_end(walker, walked)) {
                walk_path(walked);
                if (walker->keeps_no_descriptor)
                        fd_close(&walked->descriptor);
                if (walked->real)
                        (void)find_or_add(&walker->by_real, walked, compare_real_paths);
        }
        return find_or_add(&walker->by_path, walked, compare_paths);
}

const char *path_walk_real(struct walker *walker, const char *path)
{
        const struct walked *walked = path_walk(walker, path);
        errno = walked->problem;
        return walked->real;
}

bool path_walk_is_directory(struct walker *walker, const char *path)
{
        const struct walked *walked = path_walk(walker, path);
        return walked->problem == 0 && S_ISDIR(walked->status.st_mode);
}

char *path_walk_missing(struct walker *walker, const char *path)
{
        const char *real = path_walk_real(walker, path);
        if (real)
                return str_copy(real);
        struct walked walked = {0};
        struct walk walk = begin_walk(&walked, path);
        walk.by_component = true;
        (void)walk_all(&walk);
        char *missing = str_format("%s%s%s", walk.real, walk.real[1] && walk.rest[0] ? "/" : "", walk.rest);
        end_walk(&walk);
        str_list_free(&walked.links);
        str_list_free(&walked.texts);
        return missing;
}

static void free_walked(void *element)
{
        struct walked *walked = element;
        if (!walked->shares_descriptor)
                fd_autoclose(&walked->descriptor);
        str_list_free(&walked->links);
        str_list_free(&walked->texts);
        free(walked->path);
        free(walked->real);
        free(walked);
}

static void keep(void *element)
{
        (void)element;
}

void walker_release(struct walker *walker)
{
        tdestroy(walker->by_real, keep);
        tdestroy(walker->by_path, free_walked);
        walker->by_real = walker->by_path = NULL;
}

char *real_path_of_missing(const char *path)
{
        struct walker walker = {.keeps_no_descriptor = true};
        char *real = path_walk_missing(&walker, path);
        walker_release(&walker);
        return real;
}
