/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded: makes the kernel look as if it had Landlock 9. The right to resolve sockets is taken out of what
 * reaches the kernel, and each rule that gives it is told on stderr by the inode of its place: who reads this
 * sees where sockets that others made could be connected to. Nothing is enforced by it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#endif

#define RESOLVE_UNIX (UINT64_C(1) << 16)

struct rule {
        uint64_t rights;
        int32_t place;
} __attribute__((packed));

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
        if (number == SYS_landlock_create_ruleset && a[0] == 0)
                return 9;
        uint64_t known[3]; /* rights to files, rights to ports, scopes */
        if (number == SYS_landlock_create_ruleset && (size_t)a[1] == sizeof(known)) {
                memcpy(known, (const void *)a[0], sizeof(known));
                if (known[0] & RESOLVE_UNIX)
                        dprintf(2, "[landlock] sockets guarded\n");
                known[0] &= ~RESOLVE_UNIX;
                a[0] = (long)known;
        }
        if (number == SYS_landlock_add_rule && ((struct rule *)a[2])->rights & RESOLVE_UNIX) {
                struct rule *rule = (struct rule *)a[2];
                struct stat status;
                if (fstat(rule->place, &status) == 0)
                        dprintf(2, "[landlock] sockets at %ju\n", (uintmax_t)status.st_ino);
                rule->rights &= ~RESOLVE_UNIX;
                if (rule->rights == 0) /* which the kernel refuses */
                        return 0;
        }
        return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
