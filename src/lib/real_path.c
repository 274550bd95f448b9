/* SPDX-License-Identifier: Apache-2.0
 *
 * See real_path.h.
 */
#include "lib/real_path.h"

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

void real_path_free_links(struct path_links *links)
{
        str_list_free(&links->places);
        str_list_free(&links->texts);
}

char *real_path_resolve(const char *path, struct path_links *links)
{
        autofree char *rest = str_copy(path);
        char *reached = str_copy("/"); /* real */
        for (unsigned count = 0; rest[strspn(rest, "/")];) {
                const char *start = rest + strspn(rest, "/");
                size_t length = strcspn(start, "/");
                autofree char *component = str_copy_n(start, length);
                char *next = path_join(reached, component);
                char text[PATH_MAX];
                ssize_t size = readlink(next, text, sizeof(text) - 1);
                if ((size < 0 && errno != EINVAL) || (size >= 0 && ++count > MAX_LINKS)) {
                        int error = size < 0 ? errno : ELOOP;
                        free(next);
                        free(reached);
                        errno = error;
                        return NULL;
                }
                char *left;
                if (size < 0) { /* EINVAL: it exists and is not a link */
                        free(reached);
                        reached = next;
                        left = str_copy(start + length);
                } else {
                        text[size] = 0;
                        str_list_take(&links->places, next);
                        str_list_add(&links->texts, text);
                        left = str_format("%s/%s", text, start + length);
                        if (text[0] == '/') {
                                free(reached);
                                reached = str_copy("/");
                        }
                }
                free(rest);
                rest = left;
        }
        return reached;
}

void real_path_list_links(const char *path, struct str_list *places)
{
        struct path_links links = {0};
        free(real_path_resolve(path, &links));
        str_list_free(&links.texts);
        *places = links.places;
}

int real_path_open(const char *real, int flags)
{
        struct open_how how = {
            .flags = (unsigned)(flags | O_CLOEXEC),
            .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
        };
        return (int)syscall(SYS_openat2, AT_FDCWD, real, &how, sizeof(how));
}

char *real_path_of_missing(const char *path)
{
        autofree char *above = str_copy(path);
        char *real = NULL;
        while (!(real = realpath(above, NULL)) && above[1]) {
                char *parent = path_parent(above);
                free(above);
                above = parent;
        }
        const char *rest = path + (above[1] ? strlen(above) : 0);
        char *whole = str_format("%s%s", real && real[1] ? real : "", rest);
        free(real);
        return whole;
}

char *real_path_of_descriptor(int descriptor)
{
        autofree char *link = str_format("/proc/self/fd/%d", descriptor);
        return realpath(link, NULL);
}
