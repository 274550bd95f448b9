/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded: opening a file whose name ends in HUTCH_TEST_REFUSE fails with EACCES, as AppArmor's rule about
 * unprivileged user namespaces does for uid_map: the clone succeeds and what follows is refused. Everything
 * else is passed on.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static char refused_name[64];

/* Remembered at load: hutch wipes the environment of the sandbox's first process. */
__attribute__((constructor)) static void remember(void)
{
        const char *name = getenv("HUTCH_TEST_REFUSE");
        if (name != NULL && strlen(name) < sizeof refused_name)
                strcpy(refused_name, name);
}

static bool is_refused(const char *path)
{
        size_t length = strlen(path), name = strlen(refused_name);
        if (name == 0 || length < name || strcmp(path + length - name, refused_name) != 0)
                return false;
        errno = EACCES;
        return true;
}

#define MODE_OF(flags, mode)                                                                                 \
        do {                                                                                                 \
                va_list list;                                                                                \
                va_start(list, flags);                                                                       \
                mode = (flags) & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;                           \
                va_end(list);                                                                                \
        } while (0)

#define INTERPOSE_OPEN(name)                                                                                 \
        int name(const char *path, int flags, ...)                                                           \
        {                                                                                                    \
                int (*next)(const char *, int, ...) =                                                        \
                    (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name);                                \
                mode_t mode;                                                                                 \
                MODE_OF(flags, mode);                                                                        \
                return is_refused(path) ? -1 : next(path, flags, mode);                                      \
        }

#define INTERPOSE_OPENAT(name)                                                                               \
        int name(int directory, const char *path, int flags, ...)                                            \
        {                                                                                                    \
                int (*next)(int, const char *, int, ...) =                                                   \
                    (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, #name);                           \
                mode_t mode;                                                                                 \
                MODE_OF(flags, mode);                                                                        \
                return is_refused(path) ? -1 : next(directory, path, flags, mode);                           \
        }

INTERPOSE_OPEN(open)
INTERPOSE_OPEN(open64)
INTERPOSE_OPENAT(openat)
INTERPOSE_OPENAT(openat64)
