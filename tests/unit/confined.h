/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests of filters: real calls in children that have loaded them. Nothing here is part of hutch.
 */
#ifndef HUTCH_TESTS_CONFINED_H
#define HUTCH_TESTS_CONFINED_H

#include "seccomp/program.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>

/* Numbers that are the same on every architecture, for headers older than the calls. */
enum {
        CALL_IO_URING_SETUP = 425,
        CALL_CLONE3 = 435,
        CALL_CLOSE_RANGE = 436,
        CALL_OPENAT2 = 437,
        CALL_PIDFD_GETFD = 438,
        CALL_FACCESSAT2 = 439,
        CALL_LANDLOCK_CREATE_RULESET = 444,
        CALL_FUTEX_WAITV = 449,
        CALL_OF_THE_FUTURE = 9999,
};

struct call {
        const char *name;
        long number;
        long arguments[6];
        int expected; /* errno; 0: anything but an error */
};

/* clang-format off */
#define CALL(name, expected, ...) {#name, SYS_##name, {__VA_ARGS__}, (expected)}
/* clang-format on */

#define NO_FD (-1L) /* EBADF, where the kernel gets to see it */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* clone has its flags second on s390. Flags that contradict each other (CLONE_THREAD without CLONE_SIGHAND)
 * make the kernel say EINVAL before any process exists. */
#ifdef __s390x__
#define CLONE(flags) 0, (flags)
#else
#define CLONE(flags) (flags), 0
#endif

/* In a child: loads up to two programs (the first may be NULL); ends the child with 255 when that fails. */
void confine(const struct seccomp_program *first, const struct seccomp_program *second);

/* In a child: exit_group and nothing else. _exit() does more in a build with sanitizers, and a filter may
 * refuse it. */
void end_child(int status);

/* The wait status of a child, or a failure of the test. */
int wait_status(pid_t child);

long make_call(const struct call *call);

/* Makes each call in a child of its own under both programs, and fails the test unless all end as expected.
 */
void check_calls(const struct seccomp_program *arguments, const struct seccomp_program *profile,
                 const struct call *calls, size_t count);

#endif
