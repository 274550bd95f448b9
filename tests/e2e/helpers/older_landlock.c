/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded: makes landlock_create_ruleset() answer as a kernel of the Landlock version in
 * HUTCH_TEST_LANDLOCK would: it reports that version and refuses what came later. A filter cannot do this,
 * because it can only make calls fail. Everything else is passed on.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif

static int version;

/* Remembered at load: hutch wipes the environment of the sandbox's first process. */
__attribute__((constructor)) static void remember(void)
{
        const char *text = getenv("HUTCH_TEST_LANDLOCK");
        version = text != NULL ? atoi(text) : 0;
}

/* Access rights that a version knows: bits 0…12, then refer, truncate, (network), ioctl. */
static uint64_t known_file_rights(void)
{
        static const int bits[] = {0, 13, 14, 15, 15, 16};
        return (UINT64_C(1) << bits[version < 5 ? version : 5]) - 1;
}

static long judge(const uint64_t *attributes, size_t size)
{
        size_t known = version < 4 ? 1 : version < 6 ? 2 : 3;
        for (size_t i = known; i < size / sizeof *attributes; i++)
                if (attributes[i] != 0)
                        return E2BIG;
        return (attributes[0] & ~known_file_rights()) != 0 ? EINVAL : 0;
}

/* Off x86-64 a varargs function may be called with fewer arguments than are read here; their values are then
 * unspecified but never used by the kernel. */
long syscall(long number, ...)
{
        static long (*next)(long, ...);
        long a[6];
        va_list list;

        va_start(list, number);
        for (int i = 0; i < 6; i++)
                a[i] = va_arg(list, long);
        va_end(list);
        if (next == NULL)
                next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
        if (number == SYS_landlock_create_ruleset && version > 0) {
                if (a[0] == 0)
                        return version;
                long refused = judge((const uint64_t *)a[0], (size_t)a[1]);
                if (refused != 0) {
                        errno = (int)refused;
                        return -1;
                }
        }
        return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
