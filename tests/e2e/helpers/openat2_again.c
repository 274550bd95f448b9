/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded: the first three calls of openat2() that follow links below a directory fail with EAGAIN, as they
 * do while another process renames or mounts something. Everything else is passed on.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>

/* Off x86-64 a varargs function may be called with fewer arguments than are read here; their values are then
 * unspecified but never used by the kernel. */
long syscall(long number, ...)
{
        static long (*next)(long, ...);
        static int refused;
        long a[6];
        va_list list;

        va_start(list, number);
        for (int i = 0; i < 6; i++)
                a[i] = va_arg(list, long);
        va_end(list);
        if (next == NULL)
                next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
        if (number == SYS_openat2) {
                const struct open_how *how = (const struct open_how *)a[2];
                if ((how->resolve & RESOLVE_BENEATH) && !(how->resolve & RESOLVE_NO_SYMLINKS) &&
                    refused++ < 3) {
                        errno = EAGAIN;
                        return -1;
                }
        }
        return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
