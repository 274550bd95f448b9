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
};

/* Moves on to `opened`, whose real path is `real`. */
static int move(struct walk *walk, int opened, char *real)
{
        if (opened < 0) {
                free(real);
                return -errno;
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
        memmove(walk->rest, after, strlen(after) + 1);
        return problem;
}

static int walk_all(struct walk *walk)
{
        for (;;) {
                int problem = walk->is_new ? walk_rest(walk) : -ELOOP;
                if (problem != -ELOOP && problem != -ENOSYS)
                        return problem;
                walk->is_new = false;
                problem = walk_component(walk);
                if (problem < 0 || (!walk->is_new && !walk->rest[0]))
                        return problem;
        }
}

static void walk_path(struct walked *walked)
{
        struct walk walk = {
            .walked = walked,
            .real = str_copy("/"),
            .rest = str_copy(walked->path + strspn(walked->path, "/")),
            .at = -1,
            .is_new = true,
        };
        int problem = walk_all(&walk);
        free(walk.rest);
        walked->problem = -problem;
        if (problem < 0) {
                fd_autoclose(&walk.at);
                free(walk.real);
                return;
        }
        walked->descriptor = walk.at;
        walked->real = walk.real;
        if (fstat(walk.at, &walked->status) < 0)
                walked->problem = errno;
}

/* ---- the answers ---- */

/* An earlier answer to the same question, or one whose end was this real path. */
static const struct walked *find_earlier(const struct walker *walker, const char *path, bool by_end)
{
        for (size_t i = 0; i < walker->count; i++) {
                const struct walked *walked = walker->walked[i];
                const char *known = by_end ? walked->real : walked->path;
                if (known && str_equal(known, path))
                        return walked;
        }
        return NULL;
}

const struct walked *path_walk(struct walker *walker, const char *path)
{
        const struct walked *earlier = find_earlier(walker, path, false);
        if (earlier)
                return earlier;
        struct walked *walked = str_or_die(calloc(1, sizeof(*walked)));
        walked->path = str_copy(path);
        walked->descriptor = -1;
        earlier = find_earlier(walker, path, true);
        if (earlier) {
                walked->problem = earlier->problem;
                walked->real = str_copy(path);
                walked->descriptor = earlier->descriptor;
                walked->status = earlier->status;
                walked->shares_descriptor = true;
        } else {
                walk_path(walked);
        }
        walker->walked = str_or_die(reallocarray(walker->walked, walker->count + 1, sizeof(struct walked *)));
        walker->walked[walker->count++] = walked;
        return walked;
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
        autofree char *above = str_copy(path);
        const char *real;
        while (!(real = path_walk_real(walker, above)) && above[1]) {
                char *parent = path_parent(above);
                free(above);
                above = parent;
        }
        const char *rest = path + (above[1] ? strlen(above) : 0);
        return str_format("%s%s", real && real[1] ? real : "", rest);
}

void walker_release(struct walker *walker)
{
        for (size_t i = 0; i < walker->count; i++) {
                struct walked *walked = walker->walked[i];
                if (!walked->shares_descriptor)
                        fd_autoclose(&walked->descriptor);
                str_list_free(&walked->links);
                str_list_free(&walked->texts);
                free(walked->path);
                free(walked->real);
                free(walked);
        }
        free(walker->walked);
        *walker = (struct walker){0};
}
